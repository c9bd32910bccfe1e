#include "cluster/extender/program/refused_pods.h"

#include <algorithm>

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;

// More are not remembered; each change of their status tells of them again.
constexpr std::size_t kMostRefused = 20'000;
constexpr std::chrono::milliseconds kEvictionLimit{4s};
constexpr std::chrono::milliseconds kLongestEvictionPause{5min};

bool comes_back_elsewhere(const wire::PodSpecView& pod) {
  return pod.controller && pod.controller->kind != "DaemonSet" && pod.controller->kind != "Node";
}

}  // namespace

RefusedPods::RefusedPods(kube::Api& api, Log& log, std::function<bool()> may_act, Options options)
    : api_(api), log_(log), may_act_(std::move(may_act)), options_(std::move(options)) {
  thread_ = std::thread([this] { run(); });
}

RefusedPods::~RefusedPods() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancel_.cancel();
  changed_.notify_all();
  thread_.join();
}

void RefusedPods::seen(const wire::PodSpecView& pod) {
  if (options_.after == 0ms) return;
  if (pod.refused.empty() || pod.deleting || !comes_back_elsewhere(pod)) return gone(pod.uid);
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(pod.uid);
  if (known != entries_.end()) {
    known->second.why = pod.refused;
    return;
  }
  if (entries_.size() >= kMostRefused) return;
  entries_.emplace(
      pod.uid,
      Entry{.pod = {.name_space = pod.name_space, .name = pod.name, .uid = pod.uid},
            .why = pod.refused,
            .due = Clock::now() + options_.after,
            .backoff = Backoff(options_.retry, std::max(options_.retry, kLongestEvictionPause))});
  changed_.notify_one();
}

void RefusedPods::gone(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  entries_.erase(uid);
}

std::uint64_t RefusedPods::evicted() const {
  const std::lock_guard lock(mutex_);
  return evicted_;
}

void RefusedPods::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto next = std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& one, const auto& other) { return one.second.due < other.second.due; });
    if (next == entries_.end()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < next->second.due) {
      changed_.wait_until(lock, Clock::time_point(next->second.due));
      continue;
    }
    next->second.due = Clock::now() + next->second.backoff.next();
    if (!may_act_()) continue;
    const Entry entry = next->second;
    lock.unlock();
    const Status done = evict(entry);
    lock.lock();
    if (done) ++evicted_;
    const bool over =
        done || done.error().code == Errc::kNotFound || done.error().code == Errc::kConflict;
    if (over) entries_.erase(entry.pod.uid);
  }
}

Status RefusedPods::evict(const Entry& entry) {
  const kube::Call how{.cancel = &cancel_, .whole = kEvictionLimit};
  const std::string name = entry.pod.name_space + "/" + entry.pod.name;
  Status done = kube::evict_pod(api_, entry.pod, how);
  if (!done) {
    log_.warn("a refused pod is not evicted", {{"pod", name}, {"why", done.error().text}});
    return done;
  }
  log_.info("a refused pod is evicted", {{"pod", name}, {"why", entry.why}});
  const Status told = kube::report_on_pod(
      api_, options_.reporter, entry.pod,
      {.warning = true, .reason = "CoresRefused", .action = "Evicting", .note = entry.why}, how);
  if (!told) log_.warn("an event", {{"pod", name}, {"why", told.error().text}});
  return {};
}

}  // namespace pinion::cluster
