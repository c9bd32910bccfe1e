#include "cluster/sim/paper_mix.h"

#include <algorithm>
#include <random>
#include <string>

#include "cluster/sim/jobs_file.h"
#include "cluster/sim/mixed.h"
#include "sim/fine_grained_1.h"
#include "sim/fine_grained_2.h"

namespace pinion::sim {
namespace {

constexpr Ms kFig8Gap = 180'000;
constexpr Ms kTable1Gap = 90'000;
constexpr int kLastArrival = 1200;  // seconds, of the fine-grained paper's second experiment

Result<std::vector<Job>> with_random_arrivals(Result<std::vector<Job>> jobs, std::uint64_t seed) {
  if (!jobs) return jobs;
  std::mt19937_64 random(seed);
  for (Job& job : *jobs) {
    job.submit = 1000 * std::uniform_int_distribution<Ms>(0, kLastArrival)(random);
  }
  std::stable_sort(jobs->begin(), jobs->end(),
                   [](const Job& a, const Job& b) { return a.submit < b.submit; });
  return jobs;
}

}  // namespace

std::optional<PaperMix> paper_mix_of(std::string_view word) {
  return value_of(word, kPaperMixWords);
}

bool is_elastic(PaperMix mix) {
  return mix == PaperMix::kElasticRandom || mix == PaperMix::kElasticTable1 ||
         mix == PaperMix::kElasticTable1Earlier;
}

Result<std::vector<Job>> paper_jobs(PaperMix mix, std::uint64_t seed,
                                    std::optional<Ms> submission_gap) {
  switch (mix) {
    case PaperMix::kFineGrained1:
      return parse_jobs_file(std::string(kFineGrained1));
    case PaperMix::kFineGrained2:
      return parse_jobs_file(std::string(kFineGrained2));
    case PaperMix::kFineGrainedRandom:
      return with_random_arrivals(parse_jobs_file(std::string(kFineGrained2)), seed);
    case PaperMix::kElasticRandom:
      return random_elastic_jobs(seed, submission_gap.value_or(kFig8Gap));
    case PaperMix::kElasticTable1:
      return table1_jobs(Table1Set::kLatest, submission_gap.value_or(kTable1Gap));
    case PaperMix::kElasticTable1Earlier:
      return table1_jobs(Table1Set::kEarlier, submission_gap.value_or(kTable1Gap));
    case PaperMix::kVirtualClusters:
      break;
  }
  return mixed_jobs({.policy = MixedPolicy::kLeastLoaded, .seed = seed});
}

}  // namespace pinion::sim
