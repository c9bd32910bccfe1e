// Which loads share nodes: HPC jobs, whose processes wait for each other, and services. The rules
// are those of the virtual-cluster paper (Zervas et al., "Virtual Clusters", sections 3 and 4); the
// flags of its scheduler's code are in brackets.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace pinion::cluster {

struct ColocationRules {
  bool jobs_share = true;       // two HPC jobs may be on one node [Allow_MPI_Colocation]
  bool services_beside = true;  // HPC jobs and services may be [Allow_Task_Colocation]
  bool apart = false;  // at most one member of an HPC job on a node [always so]: MemberTerms::apart

  bool operator==(const ColocationRules&) const = default;
  // Whether who is on a node matters at all.
  [[nodiscard]] bool counts() const { return !jobs_share || !services_beside; }
};

// Who is on a node, or has its place there.
struct Occupants {
  std::map<std::string, int> jobs{};  // members of HPC jobs, by their job's id; none is 0
  int services = 0;

  bool operator==(const Occupants&) const = default;
  // A service, or a member of this HPC job, comes (`by` 1) or leaves (-1).
  void count(bool service, const std::string& job, int by);
};

enum class Unwelcome {
  kNo,
  kOtherJob,  // another HPC job is there, and they do not share
  kJobs,      // a service, where HPC jobs are
  kServices,  // an HPC job, where services are
};

// Whether a service, or a member of this HPC job, must not join them.
[[nodiscard]] Unwelcome unwelcome(const ColocationRules& rules, bool service, std::string_view job,
                                  const Occupants& occupants);
// A sentence about the node, without its name; empty for kNo.
[[nodiscard]] std::string_view to_string(Unwelcome why);

}  // namespace pinion::cluster
