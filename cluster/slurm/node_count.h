// How many nodes an elastic job is to have: a Job object of the API server, of which the extender
// decides the size as of any elastic job (docs/elastic.md). Its controller is this program, which
// fills it with placeholders.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/slurm/job.h"
#include "cluster/slurm/placeholder.h"

namespace pinion::slurm {

struct NodeCount {
  // Placeholders, as its status says.
  struct Told {
    int active = 0;
    int ready = 0;  // with a running job, on the nodes that the job has
    int terminating = 0;

    bool operator==(const Told&) const = default;
  };

  std::string name;
  std::string uid;
  std::string version;  // metadata.resourceVersion
  std::uint32_t job = 0;
  std::string attempt;             // attempt_of() of the job that it was made for
  bool moldable = false;           // the job keeps the number with which it starts
  bool suspended = true;           // the job is not to start
  int stated = 1;                  // placeholders that are to be there
  std::optional<int> wanted = {};  // nodes, while the extender changes the number
  std::optional<int> acknowledged = {};
  Told told = {};
  bool leaving = false;  // it is being deleted already

  // Nodes that the job is to have now.
  [[nodiscard]] int target() const { return wanted.value_or(stated); }
  // The extender waits until the job has shrunk, or has declined.
  [[nodiscard]] bool asks() const {
    return wanted && *wanted < stated && acknowledged != wanted && acknowledged != stated;
  }
};

// Words of the comment of a job whose number of nodes may be chosen at its start, and of one that
// may change it later, too.
inline constexpr std::string_view kMoldable = "moldable";
inline constexpr std::string_view kElastic = "elastic";

// What the comment of an elastic job says to the extender, by the annotation's name: priority,
// rescale-gap-seconds, rescale-cost-seconds, run-seconds. Errors: kInvalid for what the extender
// would not take.
Result<std::map<std::string, std::string>> wishes_in(std::string_view comment);

// What is to be done with the placeholders of an elastic job so that it gets to `nodes` of them.
struct Fit {
  std::vector<const Placeholder*> keep;  // at most `nodes`, the job's own first
  std::vector<const Placeholder*> drop;  // that are not needed, and not the job's
  std::vector<std::string> leave_to;     // the nodes that it shrinks to; empty: it does not shrink
  const Placeholder* take = nullptr;     // whose node it can take in now
};

// `job` may run on some nodes already; then each is held by one of `pods`. It never loses its batch
// host. Placeholders with other CPUs than `cpus`, that are lost, or are on a node that `job` has
// from another one, are of no use.
[[nodiscard]] Fit fit_of(const Job& job, const std::vector<const Placeholder*>& pods, int nodes,
                         int cpus);

}  // namespace pinion::slurm
