// What was learnt of jobs, as the value of a ConfigMap: JSON, a line for each job, so that people
// can read it, change a figure or take a line away.
//
//   {
//   "NAMESPACE/JOB": {"runs":3,"lastUnix":1763600000,"used":{"value":0.97,"seconds":1800}, ...},
//   ...
//   }
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/core/learnt_profile.h"

namespace pinion::cluster::profiles {

using Histories = std::map<std::string, ProfileHistory, std::less<>>;  // by job_key()

// Jobs that are kept. A line has 600 bytes at most (317 of them the longest names), so a map of
// them stays below 0.6 MB, where the API server takes 1 MiB.
inline constexpr std::size_t kMostJobs = 1'000;

// Takes away what is more than kMostJobs: always that job of the namespace with the most whose last
// run ended first. So no namespace pushes others' jobs out that has more than its share.
void drop_oldest(Histories& histories);

// Figures with six digits. Precondition: at most kMostJobs, keys by job_key().
[[nodiscard]] std::string to_text(const Histories& histories);

struct ReadHistories {
  Histories histories;               // at most kMostJobs
  std::size_t ignored = 0;           // entries that make no sense
  std::vector<std::string> samples;  // of what is wrong with them, a few
};

// An entry that makes no sense is passed over, also a field of it that is none of those above.
// Errors: kInvalid for what is no JSON object.
Result<ReadHistories> read_histories(std::string_view text);

}  // namespace pinion::cluster::profiles
