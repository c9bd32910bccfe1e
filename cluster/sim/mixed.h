// The mixed load of the virtual-cluster paper (Zervas et al., "Virtual Clusters", section 5): HPC
// jobs and services on five servers of 64 threads, under its policies and ours. The paper publishes
// neither the list of jobs nor run times, so jobs are drawn from what it does say; mixed_jobs()
// tells what is from where.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cluster/sim/figures.h"
#include "cluster/sim/model.h"

namespace pinion::sim {

enum class MixedPolicy {
  kPartitioned,  // two servers are Kubernetes', three are Slurm's
  kUnmanaged,    // each believes that all five are its own: Slurm fills them in their order,
                 // kube-scheduler takes the least loaded
  kLeastLoaded,  // one scheduler for both, the least loaded servers
  kMostLoaded,   // the same, the most loaded ones
  kOurs,         // one scheduler; HPC jobs cut by policy auto and planned into the tightest holes,
                 // services by PlacementPolicy::kFill
};
inline constexpr std::array kMixedWords{
    Word<MixedPolicy>{"partitioned", MixedPolicy::kPartitioned},
    Word<MixedPolicy>{"unmanaged", MixedPolicy::kUnmanaged},
    Word<MixedPolicy>{"least-loaded", MixedPolicy::kLeastLoaded},
    Word<MixedPolicy>{"most-loaded", MixedPolicy::kMostLoaded},
    Word<MixedPolicy>{"ours", MixedPolicy::kOurs}};

inline constexpr int kMixedServers = 5;

struct MixedSettings {
  MixedPolicy policy = MixedPolicy::kOurs;
  double services = 0.25;  // their share of all CPU time, 0 < share < 1
  // KindModel::crowded of HPC jobs, >= 1. With 1.4 they run 28 % shorter under least loaded than
  // unmanaged, as in the paper; nothing else is fitted.
  double crowded = 1.4;
  std::uint64_t seed = 1;  // of the jobs' run times and order
  bool check = false;      // the books after every event
};

// One of the servers, all alike.
struct MixedServer {
  std::shared_ptr<const topology::Topology> machine;  // as it is
  // The same with CPUs besides that are reserved: the allocator never gives away a machine's last
  // CPU, and the paper gives away all 64.
  std::shared_ptr<const topology::Topology> with_system;
  topology::CpuSet system;  // those CPUs
};

struct MixedRun {
  double seconds = 0;           // until the last has ended
  double services_seconds = 0;  // until the last service has
  double hpc_seconds = 0;       // until the last HPC job has
  double utilisation = 0;       // CPUs that something runs on, of all over `seconds`, 0 .. 1
  double hpc_stretch = 0;       // mean run time of an HPC job, without waiting, by its undisturbed
  std::vector<JobRecord> records;  // as they ended
};

// From the paper: the services and their threads; the sizes of HPC jobs and each size's share of
// their CPU time; and all CPU time, as utilisation x 320 threads x total time of its run "least
// loaded". Ours: the number of jobs (of 600 s on average, 300 to 900), that all are there from the
// beginning, services first, the others in random order; on how many servers a job is spread (16
// threads: 1, else 2, never twice on one); the services' share of the CPU time, and that all of
// them run equally long.
[[nodiscard]] std::vector<Job> mixed_jobs(const MixedSettings& settings);

// Deterministic. Errors: those of Simulation::run(), and kInvalid for a server that is too small
// for a job.
Result<MixedRun> run_mixed(const MixedServer& server, const MixedSettings& settings);

}  // namespace pinion::sim
