// The webhook takes any bytes: what it says is an answer in JSON, its patch applies, and after the
// patch nothing is left to do.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "cluster/extender/admission/webhook.h"
#include "cluster/extender/jobs/hostfile.h"
#include "tests/fuzz/target.h"
#include "tests/support/machine.h"

namespace pinion::fuzz::extender_review {
namespace {

namespace jobs = pinion::cluster::jobs;
namespace admission = pinion::cluster::admission;
using nlohmann::json;

void on_four_nodes(const std::function<void(const jobs::LockedFleet&)>& see) {
  static pinion::cluster::Fleet fleet;
  if (fleet.size() == 0) {
    const auto machine = std::make_shared<const pinion::topology::Topology>(
        pinion::test_support::machine({.packages = 2, .cores_per_l3 = 8, .threads_per_core = 2}));
    for (const char* name : {"a", "b", "c", "d"}) {
      pinion::cluster::NodeReport report;
      report.name = name;
      report.topology = machine;
      report.instance = "fuzz";
      if (!fleet.report(std::move(report), 0)) std::abort();
    }
  }
  see({.fleet = fleet});
}

void check(const admission::Review& review, const jobs::Options& options) {
  const jobs::Mutation mutation = admission::mutation_of(review, options, on_four_nodes);
  const bool changed = mutation.kind == jobs::Mutation::Kind::kChanged;
  if (changed == mutation.patch.empty()) std::abort();
  if (!changed && mutation.text.empty()) std::abort();
  if (!changed) return;
  admission::Review again = review;
  again.object = review.object.patch(mutation.patch);
  const jobs::Mutation second = admission::mutation_of(again, options, on_four_nodes);
  if (second.kind != jobs::Mutation::Kind::kUntouched) std::abort();
  again.object["metadata"]["uid"] = "u";
  const auto cut = jobs::read_cut_job(again.object);
  if (cut && *cut) (void)jobs::hostfile_config_map(again.object, **cut);
}

}  // namespace

PINION_FUZZ_TARGET(extender_review) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  jobs::Options options;
  options.scheduler = "pinion";
  options.learnt = [](const std::string& name_space, const std::string& job) {
    pinion::cluster::LearntProfile learnt{.why = "no earlier run"};
    const bool known = (name_space.size() + job.size()) % 2 == 0;
    if (known) learnt = {.profile = pinion::topology::Profile::kMemory, .why = "many misses"};
    return learnt;
  };
  admission::Webhook webhook(options, on_four_nodes, {});
  const auto answer = webhook.answer(text);
  if (!answer) {
    if (answer.error().text.empty() || answer.error().text.size() > 1000) std::abort();
    return 0;
  }
  if (!json::accept(*answer)) std::abort();
  check(*admission::read_review(text), options);
  return 0;
}

}  // namespace pinion::fuzz::extender_review
