// Policy auto: the split that the profile likes best of those that the fleet's free holes can give
// now. Ours, not the paper's.
//
// A split is a number of workers, as equal as they can be. CPU- and memory-bound jobs like many
// small workers, network-bound ones few large ones. From the one they like best on, each split is
// looked at in these ways:
//   CPU, memory  every worker in one L3 domain, then in one NUMA node; in as many groups as the job
//                may use nodes, then in fewer
//   network      every worker in one NUMA node, then on one socket; in one group, then in more
// The first for which each group finds a node of its own is chosen; if there is none, the first
// that finds room at all; then the first that an idle fleet could give, for which the job waits.
// Splits into more workers than can start together are not looked at.
#pragma once

#include <memory>
#include <vector>

#include "cluster/core/fleet.h"
#include "cluster/core/granularity.h"

namespace pinion::cluster {

inline constexpr std::size_t kMaxTried =
    8;  // kept in Granularity::tried, the choice being the last

// What the choice needs to know of a node, so that the fleet may go on changing meanwhile.
struct FreeNode {
  topology::Holes holes;                    // now
  std::shared_ptr<const MachineKind> kind;  // never null
  ResourceList spare = kPlenty;             // of what it has, now
  ResourceList capacity = kPlenty;          // when nobody is there
};
// Of all nodes that members of these terms may use and that are not stale, ascending by name.
[[nodiscard]] std::vector<FreeNode> free_nodes(const Fleet& fleet, const MemberTerms& terms = {});

// `nodes` is the number that the job may use, `most_workers` the number that can start together,
// both >= 1. The answer for a job without a profile is the user's default. Where no split could
// ever fit, it is the finest of so many workers that the profile allows. Errors: as
// choose_granularity.
Result<Granularity> choose_by_fleet(const JobShape& job, int nodes,
                                    const std::vector<FreeNode>& fleet, int most_workers);

// What one worker of this size asks of a node; names are the caller's to fill in.
[[nodiscard]] topology::Request request_of(const JobShape& job, int cpus, Bytes memory,
                                           topology::Align align);

}  // namespace pinion::cluster
