// POST /v1/plan takes any bytes: what it says is a plan that can be read back, and no worker has
// CPUs that are reserved or another's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "cluster/extender/admission/dry_plan.h"
#include "tests/fuzz/target.h"
#include "tests/support/machine.h"

namespace pinion::fuzz::extender_plan {
namespace {

namespace admission = pinion::cluster::admission;
namespace jobs = pinion::cluster::jobs;
using nlohmann::json;
using pinion::cluster::Fleet;
using pinion::topology::CpuSet;

void fill(Fleet& fleet) {
  const auto machine = std::make_shared<const pinion::topology::Topology>(
      pinion::test_support::machine({.packages = 2, .cores_per_l3 = 8, .threads_per_core = 2}));
  for (const char* name : {"a", "b", "c"}) {
    pinion::cluster::NodeReport report;
    report.name = name;
    report.topology = machine;
    report.reserved = {0, 16};
    report.instance = "fuzz";
    pinion::topology::Claim claim;
    claim.id = "other";
    claim.id += name;
    claim.cpus = {1, 17};
    report.claims = {claim};
    if (!fleet.report(std::move(report), 0)) std::abort();
  }
}

void check(const jobs::JobPlan& plan) {
  CpuSet all_used[3];
  for (const jobs::PlanWorker& worker : plan.workers) {
    if (worker.node.empty() != !plan.waits.empty()) std::abort();
    if (worker.node.empty()) continue;
    CpuSet& used = all_used[worker.node.at(0) - 'a'];
    if (worker.held.intersects(used | CpuSet{0, 1, 16, 17})) std::abort();
    if (!worker.runs.is_subset_of(worker.held)) std::abort();
    used |= worker.held;
  }
}

}  // namespace

PINION_FUZZ_TARGET(extender_plan) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Fleet fleet;
  fill(fleet);
  const auto answer =
      admission::dry_plan(text, {}, [&](const auto& see) { see({.fleet = fleet}); });
  if (!answer) {
    if (answer.error().text.empty() || answer.error().text.size() > 1000) std::abort();
    return 0;
  }
  const json document = json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) std::abort();
  const auto plan = jobs::read_job_plan(document);
  if (!plan || to_json(*plan) != document) std::abort();
  check(*plan);
  if (fleet.promises() != 0) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::extender_plan
