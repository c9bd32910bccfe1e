// How finely a job is cut: workers, task groups and nodes (the paper's Algorithm 1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/core/job_shape.h"

namespace pinion::cluster {

enum class Policy {
  kNone,         // the user's own number of workers
  kScale,        // a worker for each node
  kGranularity,  // a worker for each task
  kAuto,         // what the profile likes and the fleet can give now (auto_granularity.h)
};
[[nodiscard]] std::string_view to_string(Policy policy);  // "none", "scale", ...
[[nodiscard]] std::optional<Policy> policy_of(std::string_view word);

enum class Cause {
  kNoPolicy,       // no policy: the user's default
  kNoProfile,      // the policy looks at the profile and there is none: the user's default
  kNetwork,        // tasks that talk much stay in one worker
  kWorkerPerNode,  // scale
  kWorkerPerTask,  // granularity
  kFits,           // auto: the split it likes best of those that fit now, whole groups on nodes
  kFitsSplit,      // auto: fits now, but not every group on a node of its own
  kWaits,          // auto: nothing fits now; the split it likes best that the idle fleet could give
  kNever,          // auto: not even the idle fleet could give any split; as granularity
};

// A split that auto looked at.
struct Tried {
  int workers = 0;
  int cpus = 0;  // of the largest worker
  topology::Align align = topology::Align::kNuma;
  int room = 0;  // workers of that size the fleet has room for now, counted up to `workers`

  bool operator==(const Tried&) const = default;
};

struct Granularity {
  int workers = 1;                                 // Nw
  int groups = 1;                                  // Ng
  int nodes = 1;                                   // Nn
  topology::Align align = topology::Align::kNuma;  // what each worker lies within
  Cause cause = Cause::kNoPolicy;
  std::vector<Tried> tried{};  // with kAuto: those it preferred and could not have, and its choice

  bool operator==(const Granularity&) const = default;
};
// "16 workers in 4 groups on 4 nodes: one worker for each task (granularity, cpu)"
[[nodiscard]] std::string to_string(const Granularity& granularity);

// Policies none, scale and granularity, exactly as in the paper: `nodes` is the number that the job
// may use, >= 1. The user's own `groups` replaces Ng where no policy decides.
// Errors: kInvalid for tasks, workers or nodes below 1, more workers or groups than tasks or
// workers, and for kAuto, which needs a fleet.
Result<Granularity> choose_granularity(const JobShape& job, Policy policy, int nodes);

}  // namespace pinion::cluster
