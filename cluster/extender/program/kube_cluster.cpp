#include "cluster/extender/program/kube_cluster.h"

#include <array>

#include "base/rfc3339.h"
#include "cluster/extender/kube/election.h"
#include "cluster/extender/wire/pod.h"
#include "policy/annotations.h"

namespace pinion::cluster {
namespace {

constexpr std::size_t kMostNotes = 20'000;
constexpr int kThreads = 8;

Status another_leads() {
  return failure(Errc::kConflict, "another replica leads by now");
}

kube::PodRef named(const PodRef& pod) {
  return {.name_space = pod.name_space, .name = pod.name, .uid = pod.uid};
}

}  // namespace

// Whether we lead is asked by carry_out(): a note that is late is worth nothing to the next leader.
KubeCluster::KubeCluster(kube::Api& api, Log& log, std::function<bool()> may_act,
                         kube::Reporter reporter)
    : api_(api),
      log_(log),
      may_act_(std::move(may_act)),
      reporter_(std::move(reporter)),
      notes_(
          {.most = kMostNotes, .threads = kThreads}, [] { return true; },
          [this](const std::string& /*uid*/, const Note& note) { return carry_out(note); }) {}

Status KubeCluster::bind(const PodRef& pod, const std::string& node,
                         const std::map<std::string, std::string>& annotations) {
  if (!may_act_()) return another_leads();
  const auto bound = kube::bind_pod(api_, named(pod), node, annotations,
                                    {.cancel = nullptr, .whole = kube::kLeadersCallLimit});
  if (!bound) return failure(bound.error());
  if (bound->node != node) {
    return failure(Errc::kConflict, "it was bound to node " + bound->node + " meanwhile");
  }
  return {};
}

void KubeCluster::wake(const PodRef& pod) {
  add({.kind = Note::Kind::kWake, .pod = pod, .text = {}});
}

void KubeCluster::nominate(const PodRef& pod, const std::string& node) {
  add({.kind = Note::Kind::kNominate, .pod = pod, .text = node});
}

void KubeCluster::open(const Opening& opening) {
  add({.kind = Note::Kind::kOpen,
       .pod = opening.pod,
       .text = opening.node,
       .nominated = opening.nominated});
}

void KubeCluster::explain(const PodRef& pod, const std::string& why) {
  add({.kind = Note::Kind::kExplain, .pod = pod, .text = why});
}

void KubeCluster::warn(const PodRef& pod, const std::string& why) {
  add({.kind = Note::Kind::kWarn, .pod = pod, .text = why});
}

void KubeCluster::add(const Note& note) {
  // Events stand beside what else is to be done to the pod.
  std::string key = note.pod.uid;
  if (note.kind == Note::Kind::kExplain) key += "/explain";
  if (note.kind == Note::Kind::kWarn) key += "/warn";
  if (!notes_.add(key, note)) ++failed_;  // the pod scheduler notes it again
}

Status KubeCluster::done(const Note& note) {
  const kube::Call how{.cancel = nullptr, .whole = kube::kLeadersCallLimit};
  const kube::PodRef pod = named(note.pod);
  const auto report = [&](const char* reason, const char* action) {
    return kube::report_on_pod(
        api_, reporter_, pod,
        {.warning = true, .reason = reason, .action = action, .note = note.text}, how);
  };
  switch (note.kind) {
    case Note::Kind::kWake:
      return kube::annotate_pod(
          api_, pod, {{annotation::kWoken, micro_time(std::chrono::system_clock::now())}}, how);
    case Note::Kind::kNominate:
      return kube::nominate_pod(api_, pod, note.text, how);
    case Note::Kind::kOpen: {
      // Before the scheduler looks at it.
      const bool nominates = !note.nominated && !note.text.empty();
      Status nominated = nominates ? kube::nominate_pod(api_, pod, note.text, how) : Status();
      if (!nominated) return nominated;
      if (!may_act_()) return another_leads();
      return kube::ungate_pod(api_, pod, kGangGate, how);
    }
    case Note::Kind::kExplain:
      return report(kube::kGangWaits, "Planning");
    case Note::Kind::kWarn:
      return report(kube::kNeverFits, "Placing");
  }
  return {};
}

Worked KubeCluster::carry_out(const Note& note) {
  if (!may_act_()) return Worked::kDone;
  const Status done = this->done(note);
  const bool opens = note.kind == Note::Kind::kOpen;
  const std::string called = note.pod.name_space + "/" + note.pod.name;
  if (done && opens) log_.info("its gate is taken off", {{"pod", called}, {"node", note.text}});
  // Gone meanwhile, or another pod of its name.
  if (done || done.error().code == Errc::kNotFound || done.error().code == Errc::kConflict) {
    return Worked::kDone;
  }
  // The pod's next event tells how far it has come.
  if (opens && done.error().code == Errc::kUnavailable) {
    log_.warn("not known whether a pod's gate is off",
              {{"pod", called}, {"why", done.error().text}});
    return Worked::kDone;
  }
  ++failed_;
  constexpr std::array texts = {"cannot wake a pod", "cannot nominate a pod",
                                "cannot take a pod's gate off", "cannot tell why a pod waits",
                                "cannot tell that a pod fits nowhere"};
  log_.warn(texts.at(static_cast<std::size_t>(note.kind)),
            {{"pod", called}, {"why", done.error().text}});
  return Worked::kDone;  // the pod scheduler notes it again
}

}  // namespace pinion::cluster
