// A node as Slurm tells of it, and which nodes a job may have.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/slurm/job.h"

namespace pinion::slurm {

struct Node {
  std::string name;
  std::string out;  // why Slurm starts no job there: "IDLE+DRAIN: bad disk"; empty: it does
  std::set<std::string> features;       // that it has now
  std::vector<std::string> partitions;  // it is in these

  bool operator==(const Node&) const = default;
};

// Whether a node with these features is what a job's --constraint wants: names with & and |, from
// left to right, parts of it in parentheses. Empty: every node is. Errors: kInvalid for what is
// about all nodes of a job together, as [a|b] and a*2, is no such expression, or is longer than
// 1024 characters.
Result<bool> fits(std::string_view constraint, const std::set<std::string>& features);

struct Choice {
  std::vector<std::string> nodes;  // that the job may have, sorted
  std::string others;              // why not the others; empty: there are none

  [[nodiscard]] bool has(const std::string& node) const {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  }
  bool operator==(const Choice&) const = default;
};

// In this partition; empty: in whichever.
[[nodiscard]] Choice choose_nodes(const Job& job, const std::string& partition,
                                  const std::vector<Node>& nodes);

}  // namespace pinion::slurm
