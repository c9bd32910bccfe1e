// The webhook takes any bytes: what it says is an answer in JSON, its patch applies, and after the
// patch nothing is left to do.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/extender/admission/webhook.h"
#include "cluster/extender/jobs/hostfile.h"

namespace {

namespace jobs = pinion::cluster::jobs;
namespace admission = pinion::cluster::admission;
using nlohmann::json;

pinion::Result<pinion::cluster::Granularity> on_four_nodes(const pinion::cluster::JobShape& job,
                                                           pinion::cluster::Policy policy,
                                                           int /*nodes*/) {
  using pinion::cluster::Policy;
  const Policy known = policy == Policy::kAuto ? Policy::kGranularity : policy;
  return pinion::cluster::choose_granularity(job, known, 4);
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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  jobs::Options options;
  options.scheduler = "pinion";
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
