// What must hold before the agent may touch anything.
#pragma once

#include <optional>
#include <string>

#include "agent/cgroup/cpuset_files.h"
#include "agent/config.h"
#include "base/error.h"

namespace pinion::agent {

// The policy in the text of a kubelet's cpu_manager_state file. Errors: kInvalid.
Result<std::string> kubelet_policy(const std::string& state_file);

// Refused (kDenied, saying what to change) beside a kubelet whose state file says "static". No
// file, no kubelet: fine.
Status check_kubelet(const Config& config);

// Refused (kInvalid, saying what to do) where the setting `topology` describes CPUs or NUMA nodes
// that the machine at hostRoot lacks: the runtime would fail each start of a container there. A
// hostRoot without a machine, as tests with a runtime of their own have it: fine.
Status check_described(const Config& config, const topology::Topology& described);

// Before anything listens or counts: raises the soft limit on open files to the hard one, as
// counters take what is left of it beside the descriptors that are set aside for all that pins.
// Error: kExhausted, with the number that is needed.
Status reserve_descriptors();

// The best fence that works on this machine, as tried out, and the cgroup files to work with; `why`
// says what stood in the way of a better one. Empty partitions that a killed agent has left are
// taken away. Without files (another machine's topology or snapshot, no hierarchy) `files` is empty
// and `why` says so.
struct Enforcement {
  engine::FenceKind fence = engine::FenceKind::kRuntime;
  std::optional<cgroup::CpusetFiles> files;
  std::string why;
  std::string denied;  // what the agent lacks the rights for, and has a weaker fence without
};
// Errors: kUnavailable when the configuration forces a fence that cannot work here.
Result<Enforcement> choose_enforcement(const Config& config, const topology::CpuSet& online);

}  // namespace pinion::agent
