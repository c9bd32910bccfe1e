// The jobs of the elastic Charm++ paper's simulations (Bhosale et al., SC Workshops '25): 16 of
// its four sizes of Jacobi, with priorities from 1 to 5. Times are those of the latest version of
// the authors' simulator, in which the launcher computes, too: what the paper calls 8 PEs are 7
// workers. Meant for 60 processors.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/sim/job.h"

namespace pinion::sim {

inline constexpr std::uint64_t kMostElasticSets = 1'000'000;

// A set of those of Fig. 7 and 8, in which each job is as likely of each size and priority. 1 to
// 100 are the paper's, as its simulator draws them one after the other; the sets above go on so.
// Precondition: 1 <= set <= kMostElasticSets.
[[nodiscard]] std::vector<Job> random_elastic_jobs(std::uint64_t set, Ms submission_gap);

enum class Table1Set {
  kLatest,   // of the latest version of the authors' simulator
  kEarlier,  // of the one before
};
[[nodiscard]] std::vector<Job> table1_jobs(Table1Set set, Ms submission_gap);

}  // namespace pinion::sim
