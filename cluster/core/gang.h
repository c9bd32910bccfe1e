// The members of a job that start together, as they are planned.
#pragma once

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "cluster/core/node_terms.h"
#include "topology/allocate.h"

namespace pinion::cluster {

// One member: the request of its first container, and those of its other containers with CPUs,
// which go onto the same node. Ids are as the fleet will know them, all different.
struct GangMember : topology::Request {
  GangMember() = default;
  // A member of one container is its request. NOLINTNEXTLINE(google-explicit-constructor)
  GangMember(topology::Request request) : topology::Request(std::move(request)) {}
  GangMember(const std::vector<topology::Request>& requests, MemberTerms its_terms)
      : topology::Request(requests.front()),
        beside(requests.begin() + 1, requests.end()),
        terms(std::move(its_terms)) {}

  std::vector<topology::Request> beside;
  MemberTerms terms;

  // Of all its containers.
  [[nodiscard]] int all_cpus() const {
    int all = cpus;
    for (const auto& request : beside) all += request.cpus;
    return all;
  }
  [[nodiscard]] std::vector<topology::Request> requests() const {
    std::vector<topology::Request> all{*this};
    all.insert(all.end(), beside.begin(), beside.end());
    return all;
  }
};

// Workers of one job; those whose requests name the same task group belong together.
using Gang = std::vector<GangMember>;

inline constexpr int kAnyNumber = std::numeric_limits<int>::max();
// Of nodes, as a job states it; 0: any number.
[[nodiscard]] constexpr int limit_of_nodes(int stated) {
  return stated > 0 ? stated : kAnyNumber;
}

struct PlanLimits {
  // Decisions of the allocator, some 15 us each, that the search may take; 0: none. With so many
  // a gang of 256 takes some 15 ms with its promises (docs/benchmarks.md).
  int steps = 500;
  // Only these nodes; null: all. Never stale ones, nor those that a member may not use.
  const std::vector<NodeIndex>* among = nullptr;
  // On how many nodes the job may be at one time, those included where it is.
  int nodes = kAnyNumber;
};

// Whether they ask for the same, whoever and of whatever task group they are.
[[nodiscard]] bool same_shape(const topology::Request& a, const topology::Request& b);
[[nodiscard]] bool same_shape(const GangMember& a, const GangMember& b);
// The positions of those of the same shape, by the first of each.
[[nodiscard]] std::vector<std::vector<std::size_t>> by_shape(const Gang& gang);

}  // namespace pinion::cluster
