#include "cluster/core/elastic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/words.h"
#include "cluster/core/elastic_rules.h"

namespace pinion::cluster {
namespace {

constexpr std::array kPolicyWords{Word<ElasticPolicy>{"min", ElasticPolicy::kMin},
                                  Word<ElasticPolicy>{"max", ElasticPolicy::kMax},
                                  Word<ElasticPolicy>{"moldable", ElasticPolicy::kMoldable},
                                  Word<ElasticPolicy>{"elastic", ElasticPolicy::kElastic},
                                  Word<ElasticPolicy>{"elastic-fig2", ElasticPolicy::kElasticFig2},
                                  Word<ElasticPolicy>{"ours", ElasticPolicy::kOurs}};
constexpr std::size_t kCostsSeen = 4;     // the last ones count
constexpr double kDefaultCost = 5;        // seconds: of the order that the paper's Fig. 5 shows
constexpr std::int64_t kLeastGap = 1000;  // ms, where a rescale costs nothing

}  // namespace

std::optional<ElasticPolicy> elastic_policy_of(std::string_view word) {
  return value_of(word, kPolicyWords);
}

void heed_wish(ElasticJob& job, int wish) {
  job.max_workers = std::max(wish, job.workers);
  if (job.workers == 0) job.min_workers = wish;
  job.kept_workers = wish;
  job.wished = wish > job.workers;
}

bool is_to_wait_for_more(ElasticPolicy policy, const ElasticJob& job, const ElasticStep& step) {
  const bool has_more = policy != ElasticPolicy::kMin;
  return has_more && step.workers > step.from && step.workers < job.max_workers;
}

bool is_passed_by_nobody(ElasticPolicy policy, const ElasticJob& job, std::int64_t now_ms,
                         const ElasticKnobs& knobs) {
  return policy == ElasticPolicy::kOurs && job.workers == 0 &&
         now_ms - job.submitted_ms >= knobs.patience_ms;
}

double expected_cost_s(std::span<const double> seen, double declared) {
  if (seen.empty()) return declared >= 0 ? declared : kDefaultCost;
  const auto last = seen.last(std::min(seen.size(), kCostsSeen));
  return std::accumulate(last.begin(), last.end(), 0.0) / static_cast<double>(last.size());
}

std::int64_t effective_gap_ms(const ElasticJob& job, const ElasticKnobs& knobs) {
  if (job.wished) return std::max(job.gap_ms, kLeastGap);
  const auto cost_of = [](double cost) { return cost >= 0 ? cost : kDefaultCost; };
  const double cost = std::max(cost_of(job.shrink_cost_s), cost_of(job.expand_cost_s));
  const double share = knobs.rescale_percent / 100.0;
  const auto for_share = static_cast<std::int64_t>(std::ceil(1000 * cost / share));
  return std::max({job.gap_ms, for_share, kLeastGap});
}

std::int64_t elastic_free(const ElasticView& view) {
  std::int64_t free = view.slots;
  for (const ElasticJob& job : view.jobs) free -= job.slots(job.workers);
  return free;
}

bool elastic_before(const ElasticJob& a, const ElasticJob& b) {
  return std::tuple(-std::int64_t{a.priority}, a.submitted_ms, a.id) <
         std::tuple(-std::int64_t{b.priority}, b.submitted_ms, b.id);
}

int workers_for(const ElasticJob& job, std::int64_t slots) {
  const std::int64_t fit = (slots - job.other_slots) / job.slots_per_worker;
  const auto workers = static_cast<int>(std::min<std::int64_t>(fit, job.max_workers));
  return slots >= job.other_slots && workers >= job.min_workers ? workers : 0;
}

int least_workers(const ElasticJob& job, bool heeds_wish) {
  return heeds_wish ? std::max(job.min_workers, job.kept_workers) : job.min_workers;
}

ElasticDecision decide(ElasticPolicy policy, const ElasticView& view, const ElasticKnobs& knobs) {
  if (policy == ElasticPolicy::kOurs) return decide_ours(view, knobs);
  return decide_as_paper(policy, view);
}

}  // namespace pinion::cluster
