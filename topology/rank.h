// How good a domain is for a request: the order of preference of allocate.cpp as a tuple; internal
// to the allocator.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "topology/memory.h"
#include "topology/space.h"

namespace pinion::topology {

// What of the request and of the containers already placed bears on the choice, gathered once.
struct Criteria {
  const Topology& topology;
  const Ledger& ledger;
  const Request& request;
  const Claim* own = nullptr;      // being resized: its promise counts as free
  MemoryLeft left{};               // unpromised bytes by node; empty: no memory is asked for
  std::vector<Index> devices{};    // nodes that it shall be near
  std::vector<Index> beside{};     // nodes of CPUs that the container already has or gets
  std::vector<int> controllers{};  // by node: memory-bound containers there; empty: not asked for
  std::vector<int> group_away{};   // by node: closeness to the group, summed up; empty: no group
  std::array<std::vector<int>, kAligns.size()> group{};  // members by domain; empty: no group
};

[[nodiscard]] Criteria criteria_of(const Topology& topology, const Ledger& ledger,
                                   const Request& request, const Claim* own);

// Containers of the request's task group that hold CPUs in the domain.
[[nodiscard]] int group_members(const Criteria& criteria, Align align, Index domain);

// Compared member by member, in this order; the smaller is the better one.
struct Rank {
  int from_devices = 0;  // closeness of its nearest node to each device's, summed up
  int from_own = 0;      // closeness to the CPUs that the container already has
  bool short_of_memory = false;
  int not_whole = 0;      // CPUs on cores that it would not have whole (kPreferFull)
  int controllers = 0;    // memory-bound containers on its nodes
  int without_group = 0;  // minus the members of the task group in it
  int from_group = 0;     // closeness to all members of the task group
  int not_kept = 0;       // minus the CPUs it had before
  int split = 0;          // cores that must be given in part although nobody else has a part
  int hole = 0;           // units left in it
  int l3s_broken = 0;     // L3 domains that are nobody's now and then would be used in part
  Index id = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the defaulted operator
  auto operator<=>(const Rank&) const = default;
};

// Precondition: the domain has units >= n >= 1.
[[nodiscard]] Rank rank(const Criteria& criteria, const Space& space, Align align, Index domain,
                        int n);

}  // namespace pinion::topology
