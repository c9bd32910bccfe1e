// The placeholders of one job, taken together.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cluster/slurm/node.h"
#include "cluster/slurm/placeholder.h"
#include "cluster/slurm/shape.h"

namespace pinion::slurm {

using Pods = std::vector<const Placeholder*>;

[[nodiscard]] bool fits_no_node(const Pods& pods);

// One on a node where Slurm does not start the job; nullptr: there is none.
[[nodiscard]] const Placeholder* misplaced(const Pods& pods, const Choice& choice);
[[nodiscard]] std::string why_misplaced(const Placeholder& pod, const Choice& choice);

// None has a node yet, and one was made for other nodes than `list` is short for, where Slurm could
// start the job now.
[[nodiscard]] bool outdated(const Pods& pods, const std::string& list);

// One is gone or does not fit what the job asks for now, or two are on one node.
[[nodiscard]] bool spoilt(const Pods& pods, const Shape& shape);

[[nodiscard]] bool all_run(const Pods& pods);

[[nodiscard]] std::set<std::string> nodes_of(const Pods& pods);

}  // namespace pinion::slurm
