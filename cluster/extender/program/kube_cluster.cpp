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

// Whether we lead is asked by carry_out(): a note that is late is worth nothing to the next leader.
KubeCluster::KubeCluster(kube::Api& api, Log& log, std::function<bool()> may_act)
    : api_(api),
      log_(log),
      may_act_(std::move(may_act)),
      notes_(
          {.most = kMostNotes, .threads = kThreads}, [] { return true; },
          [this](const std::string& /*uid*/, const Note& note) { return carry_out(note); }) {}

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

void KubeCluster::add(const Note& note) {
  if (!notes_.add(note.pod.uid, note)) ++failed_;  // the pod scheduler notes it again
}

Worked KubeCluster::carry_out(const Note& note) {
  if (!may_act_()) return Worked::kDone;
  const kube::Call how{.cancel = nullptr, .whole = kCallLimit};
  const Status done =
      note.node.empty()
          ? kube::annotate_pod(api_, named(note.pod),
                               {{kWoken, kube::micro_time(std::chrono::system_clock::now())}}, how)
          : kube::nominate_pod(api_, named(note.pod), note.node, how);
  // Gone meanwhile, or another pod of its name.
  if (done || done.error().code == Errc::kNotFound || done.error().code == Errc::kConflict) {
    return Worked::kDone;
  }
  ++failed_;
  log_.warn(note.node.empty() ? "cannot wake a pod" : "cannot nominate a pod",
            {{"pod", note.pod.name_space + "/" + note.pod.name}, {"why", done.error().text}});
  return Worked::kDone;  // the pod scheduler notes it again
}

}  // namespace pinion::cluster
