// Virtual clusters as their pods show them: those of the chart, and the placeholders of jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::ctl {

// A Slurm job, as far as it has placeholders.
struct VirtualJob {
  std::uint32_t id = 0;  // Slurm's
  bool runs = false;     // all of its placeholders do; else it waits
  std::int64_t cpus = 0;
  std::int64_t lent = 0;           // of them
  std::vector<std::string> nodes;  // of Kubernetes, sorted; fewer than it needs while it waits
  std::string why;                 // it waits; empty: not known

  bool operator==(const VirtualJob&) const = default;
};

struct VirtualCluster {
  std::string name_space;
  std::string name;
  std::string controller;  // "ready"; why it is not; "-": none, as without the chart
  int nodes = 0;           // of Slurm, one pod each
  int ready_nodes = 0;
  std::vector<VirtualJob> jobs;  // by number

  [[nodiscard]] int running() const;  // jobs
  [[nodiscard]] int waiting() const;  // jobs
  // Of placeholders that run beside the container to which they lend. Without the chart that
  // container is not known, and is taken to run.
  [[nodiscard]] std::int64_t cpus_lent() const;
  [[nodiscard]] std::int64_t cpus_wanted() const;  // of all others

  bool operator==(const VirtualCluster&) const = default;
};

// Selects the pods that read_virtual_clusters() looks at.
inline constexpr const char* kVirtualClusterPods =
    "app.kubernetes.io/name in (pinion-virtual-cluster,pinion-placeholder)";

// By namespace and name, from a list of pods as the API server writes it. Pods that have ended or
// are being deleted, and placeholders without a cluster or job are passed over. Error: kInvalid for
// text that is no list.
Result<std::vector<VirtualCluster>> read_virtual_clusters(const std::string& json);

}  // namespace pinion::ctl
