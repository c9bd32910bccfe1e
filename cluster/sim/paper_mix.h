// The jobs of the papers' experiments, as models of `pinion-sim run --generate`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cluster/sim/elastic_mix.h"

namespace pinion::sim {

enum class PaperMix {
  kFineGrained1,       // mixes/fine-grained-1.yaml: ten DGEMM jobs
  kFineGrained2,       // mixes/fine-grained-2.yaml: 20 jobs of five programs
  kFineGrainedRandom,  // the same 20, which come at random whole seconds, as the paper drew its own
  kElasticRandom,      // random_elastic_jobs(), the seed being the set
  kElasticTable1,      // table1_jobs()
  kElasticTable1Earlier,
  kVirtualClusters,  // mixed_jobs(), cut as for the paper's policies
};
inline constexpr std::array kPaperMixWords{
    Word<PaperMix>{"fine-grained-1", PaperMix::kFineGrained1},
    Word<PaperMix>{"fine-grained-2", PaperMix::kFineGrained2},
    Word<PaperMix>{"fine-grained-random", PaperMix::kFineGrainedRandom},
    Word<PaperMix>{"elastic-random", PaperMix::kElasticRandom},
    Word<PaperMix>{"elastic-table1", PaperMix::kElasticTable1},
    Word<PaperMix>{"elastic-table1-earlier", PaperMix::kElasticTable1Earlier},
    Word<PaperMix>{"virtual-clusters", PaperMix::kVirtualClusters}};

[[nodiscard]] std::optional<PaperMix> paper_mix_of(std::string_view word);
// It is the elastic paper's.
[[nodiscard]] bool is_elastic(PaperMix mix);

// By submission. Those of the fine-grained paper have a kind, and no run time. `submission_gap`: of
// the elastic paper's; nullopt: as there. Precondition: 1 <= seed <= kMostElasticSets for
// kElasticRandom.
Result<std::vector<Job>> paper_jobs(PaperMix mix, std::uint64_t seed,
                                    std::optional<Ms> submission_gap);

}  // namespace pinion::sim
