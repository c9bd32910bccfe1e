#include "cluster/extender/program/refused_pods.h"

#include <algorithm>

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;

// More are not remembered; each change of their status tells of them again.
constexpr std::size_t kMostRefused = 20'000;
constexpr std::chrono::milliseconds kEvictionLimit{4s};
constexpr std::chrono::milliseconds kLongestEvictionPause{5min};
constexpr int kEvictionThreads = 2;  // of one namespace one: a call may hang

bool comes_back_elsewhere(const wire::PodSpecView& pod) {
  return pod.controller && pod.controller->kind != "DaemonSet" && pod.controller->kind != "Node";
}

}  // namespace

RefusedPods::RefusedPods(kube::Api& api, Log& log, std::function<bool()> may_act, Options options)
    : api_(api),
      log_(log),
      options_(std::move(options)),
      queue_({.most = kMostRefused,
              .first_pause = options_.retry,
              .longest_pause = std::max(options_.retry, kLongestEvictionPause),
              .threads = kEvictionThreads,
              .group_of = [](const Refused& refused) { return refused.pod.name_space; },
              .most_of_group = kEvictionThreads / 2},
             std::move(may_act), [this](const std::string& /*uid*/, const Refused& refused) {
               return evict(refused);
             }) {}

RefusedPods::~RefusedPods() {
  cancel_.cancel();
}

void RefusedPods::seen(const wire::PodSpecView& pod) {
  if (options_.after == 0ms) return;
  if (pod.refused.empty() || pod.deleting || !comes_back_elsewhere(pod)) return gone(pod.uid);
  const Refused refused{.pod = {.name_space = pod.name_space, .name = pod.name, .uid = pod.uid},
                        .why = pod.refused};
  if (!queue_.update(pod.uid, refused)) queue_.add(pod.uid, refused, options_.after);
}

void RefusedPods::gone(const std::string& uid) {
  queue_.erase(uid);
}

Worked RefusedPods::evict(const Refused& refused) {
  const kube::Call how{.cancel = &cancel_, .whole = kEvictionLimit};
  const std::string name = refused.pod.name_space + "/" + refused.pod.name;
  const Status done = kube::evict_pod(api_, refused.pod, how);
  if (!done) {
    log_.warn("a refused pod is not evicted", {{"pod", name}, {"why", done.error().text}});
    const bool over = done.error().code == Errc::kNotFound || done.error().code == Errc::kConflict;
    return over ? Worked::kDone : Worked::kAgain;  // there is no such pod any more
  }
  ++evicted_;
  log_.info("a refused pod is evicted", {{"pod", name}, {"why", refused.why}});
  const Status told = kube::report_on_pod(
      api_, options_.reporter, refused.pod,
      {.warning = true, .reason = "CoresRefused", .action = "Evicting", .note = refused.why}, how);
  if (!told) log_.warn("an event", {{"pod", name}, {"why", told.error().text}});
  return Worked::kDone;
}

}  // namespace pinion::cluster
