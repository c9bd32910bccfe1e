#include "cluster/extender/program/kube_cluster.h"

#include "cluster/extender/kube/micro_time.h"
#include "cluster/extender/kube/pods.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;

// Below the time that a lost lead leaves until another one may begin (kube/election.h: 3 s).
constexpr std::chrono::milliseconds kCallLimit{2500ms};
constexpr std::size_t kMostNotes = 20'000;
constexpr int kThreads = 2;
// Its change brings the pod back into the scheduler's queue.
constexpr const char* kWoken = "pinion.dev/woken";

kube::PodRef named(const PodRef& pod) {
  return {.name_space = pod.name_space, .name = pod.name, .uid = pod.uid};
}

}  // namespace

KubeCluster::KubeCluster(kube::Api& api, Log& log, std::function<bool()> may_act)
    : api_(api), log_(log), may_act_(std::move(may_act)) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run(); });
}

KubeCluster::~KubeCluster() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status KubeCluster::bind(const PodRef& pod, const std::string& node,
                         const std::map<std::string, std::string>& annotations) {
  if (!may_act_()) return failure(Errc::kConflict, "another replica leads by now");
  const auto bound =
      kube::bind_pod(api_, named(pod), node, annotations, {.cancel = nullptr, .whole = kCallLimit});
  if (!bound) return failure(bound.error());
  if (bound->node != node) {
    return failure(Errc::kConflict, "it was bound to node " + bound->node + " meanwhile");
  }
  return {};
}

void KubeCluster::wake(const PodRef& pod) {
  add({.pod = pod, .node = {}});
}

void KubeCluster::nominate(const PodRef& pod, const std::string& node) {
  add({.pod = pod, .node = node});
}

std::uint64_t KubeCluster::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

void KubeCluster::add(Note note) {
  const std::lock_guard lock(mutex_);
  const std::string uid = note.pod.uid;
  if (notes_.size() >= kMostNotes && !notes_.contains(uid)) {
    ++failed_;  // the pod scheduler notes it again
    return;
  }
  if (notes_.insert_or_assign(uid, std::move(note)).second) order_.push_back(uid);
  changed_.notify_one();
}

void KubeCluster::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !order_.empty(); });
    if (stopping_) return;
    const auto next = notes_.find(order_.front());
    order_.pop_front();
    const Note note = std::move(next->second);
    notes_.erase(next);
    lock.unlock();
    carry_out(note);
    lock.lock();
  }
}

void KubeCluster::carry_out(const Note& note) {
  if (!may_act_()) return;
  const kube::Call how{.cancel = nullptr, .whole = kCallLimit};
  const Status done =
      note.node.empty()
          ? kube::annotate_pod(api_, named(note.pod),
                               {{kWoken, kube::micro_time(std::chrono::system_clock::now())}}, how)
          : kube::nominate_pod(api_, named(note.pod), note.node, how);
  // Gone meanwhile, or another pod of its name.
  if (done || done.error().code == Errc::kNotFound || done.error().code == Errc::kConflict) return;
  {
    const std::lock_guard lock(mutex_);
    ++failed_;
  }
  log_.warn(note.node.empty() ? "cannot wake a pod" : "cannot nominate a pod",
            {{"pod", note.pod.name_space + "/" + note.pod.name}, {"why", done.error().text}});
}

}  // namespace pinion::cluster
