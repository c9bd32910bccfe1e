// Task groups (the paper's Algorithms 3 and 4): which workers belong together, and how good a node
// is for one of them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cluster/core/gang.h"

namespace pinion::cluster {

// Each worker that is of no group yet joins the group that requests fewest CPUs so far, of equal
// ones the lowest: the groups are named NAME-0 .. NAME-(groups - 1). `cpus`: what each group
// requests already, beside these workers. Fewer workers than groups leave the last ones empty.
// Precondition: groups >= 1.
void join_groups(const std::string& name, int groups, std::map<std::string, int> cpus,
                 Gang& workers);

struct TaskGroup {
  std::vector<std::size_t> members;  // positions of the workers, ascending
  int cpus = 0;                      // requested by all of them

  bool operator==(const TaskGroup&) const = default;
};

// The order in which groups are placed, each with all its workers before the next (WorkerOrderFn):
// those that request most first, ties by position.
[[nodiscard]] std::vector<std::size_t> placing_order(const std::vector<TaskGroup>& groups);

// What a node looks like to a worker of one group.
struct GroupCounts {
  int members = 0;       // workers of its group there
  int other_groups = 0;  // other groups of its job there
  int still_fit = 0;     // workers of its group not placed yet, itself included, that fit there
};

// Higher is better.
[[nodiscard]] constexpr int node_score(const GroupCounts& counts) {
  return counts.members - counts.other_groups + counts.still_fit;
}

}  // namespace pinion::cluster
