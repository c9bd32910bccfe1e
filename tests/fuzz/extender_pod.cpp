// A pod as a watch of the API server tells of it: any JSON is a pod or an error with a text. What
// is read can be asked about, told and forgotten, and nothing of it stays.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/scheduling/pod_scheduler.h"
#include "cluster/extender/wire/reader.h"
#include "tests/fuzz/target.h"
#include "tests/support/machine.h"

namespace pinion::fuzz::extender_pod {
namespace {

using pinion::cluster::Demand;
using pinion::cluster::Pod;
using pinion::cluster::PodScheduler;
using Kind = Demand::Kind;

void fill(PodScheduler& scheduler) {
  const auto machine = std::make_shared<const pinion::topology::Topology>(
      pinion::test_support::machine({.packages = 2, .cores_per_l3 = 8, .threads_per_core = 2}));
  for (const char* name : {"node-a", "node-b"}) {
    pinion::cluster::NodeReport report;
    report.name = name;
    report.topology = machine;
    report.reserved = {0, 16};
    report.instance = "fuzz";
    if (!scheduler.report(std::move(report), 0)) std::abort();
  }
}

void check(const Demand& demand) {
  switch (demand.kind) {
    case Kind::kNone:
      return;
    case Kind::kRefused:
    case Kind::kWaiting:
      if (demand.text.empty()) std::abort();
      return;
    case Kind::kMember:
      if (demand.requests.size() != 1 || demand.gang.empty()) std::abort();
      if (demand.size < 1 || demand.size > pinion::cluster::kMaxGang) std::abort();
      break;
    case Kind::kSingle:
      if (demand.requests.empty()) std::abort();
  }
  for (const auto& request : demand.requests) {
    if (request.cpus < 1 || request.id.empty()) std::abort();
  }
}

void live(const Pod& pod) {
  PodScheduler scheduler({}, {});
  fill(scheduler);
  if (pod.group_api == pinion::cluster::PodGroupApi::kNative) {
    scheduler.serve_groups(pod.group_api, true);
    scheduler.group(group_key(pod), 1, 0);
  }
  const auto answer = scheduler.filter(pod, {"node-a", "node-b", "unknown"}, 1);
  if (answer.ours && answer.verdict.size() != 3) std::abort();
  for (const auto verdict : answer.verdict) {
    if (verdict > answer.texts.size()) std::abort();
  }
  for (const int score : scheduler.scores(pod, {"node-a", "unknown"})) {
    if (score < 0 || score > 10) std::abort();
  }
  scheduler.seen(pod, 1);
  scheduler.seen(pod, 2);
  (void)scheduler.told_with_binding(pod.uid);
  scheduler.tick(2);
  (void)scheduler.take_effects();
  scheduler.gone(pod.uid, 3);
  if (scheduler.pods() != 0 || scheduler.fleet().promises() != 0 || !scheduler.waiting().empty())
    std::abort();
}

}  // namespace

PINION_FUZZ_TARGET(extender_pod) {
  pinion::cluster::wire::Reader reader;
  const auto view = reader.pod(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!view) {
    if (view.error().text.empty() || view.error().text.size() > 1000) std::abort();
    return 0;
  }
  const Pod pod = pinion::cluster::pod_of(*view);
  check(demand_of(pod, {}));
  live(pod);
  return 0;
}

}  // namespace pinion::fuzz::extender_pod
