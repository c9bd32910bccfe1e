// What decides beside its CPUs whether a node takes a member: what whoever runs the nodes says of
// them. The core does not know why.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/core/hole_index.h"

namespace pinion::cluster {

// Amounts that a node has, or a member requests, by number: whichever CPUs those are. Of one who
// requests nothing all are 0.
struct ResourceList {
  std::int64_t milli_cpus = 0;
  std::int64_t memory = 0;   // bytes
  std::int64_t members = 0;  // places for members

  bool operator==(const ResourceList&) const = default;
  ResourceList& operator+=(const ResourceList& other) {
    milli_cpus += other.milli_cpus;
    memory += other.memory;
    members += other.members;
    return *this;
  }
  ResourceList& operator-=(const ResourceList& other) {
    milli_cpus -= other.milli_cpus;
    memory -= other.memory;
    members -= other.members;
    return *this;
  }
};

// Nobody has said how much there is: enough.
inline constexpr ResourceList kPlenty{.milli_cpus = std::numeric_limits<std::int64_t>::max() / 2,
                                      .memory = std::numeric_limits<std::int64_t>::max() / 2,
                                      .members = std::numeric_limits<std::int64_t>::max() / 2};

// How many of these can be taken of it, at most `wanted`. What one does not take may be overdrawn.
[[nodiscard]] inline int times(const ResourceList& of, const ResourceList& one, int wanted) {
  const auto fit = [&](std::int64_t there, std::int64_t each) {
    return each <= 0 ? std::int64_t{wanted} : std::max<std::int64_t>(there, 0) / each;
  };
  return static_cast<int>(std::min({std::int64_t{wanted}, fit(of.milli_cpus, one.milli_cpus),
                                    fit(of.memory, one.memory), fit(of.members, one.members)}));
}
[[nodiscard]] inline bool has(const ResourceList& of, const ResourceList& one) {
  return times(of, one, 1) == 1;
}

// Nodes by their index in the fleet; and by their names those of whose agents nothing was heard.
class NodeSet {
 public:
  [[nodiscard]] bool contains(NodeIndex node) const {
    const auto at = static_cast<std::size_t>(node);
    return at < nodes_.size() && nodes_[at];
  }
  void set(NodeIndex node, bool in) {
    const auto at = static_cast<std::size_t>(node);
    if (at >= nodes_.size()) nodes_.resize(at + 1);
    nodes_[at] = in;
  }
  [[nodiscard]] const std::set<std::string>& unheard() const { return unheard_; }
  void set_unheard(const std::string& node, bool in) {
    if (in) {
      unheard_.insert(node);
    } else {
      unheard_.erase(node);
    }
  }

 private:
  std::vector<bool> nodes_;
  std::set<std::string> unheard_;
};

struct NodeTerms {
  bool open = true;                 // for new members that name no nodes of their own
  ResourceList capacity = kPlenty;  // for all members
  ResourceList others{};            // what those take of it that are no members of a job here
  int services = 0;                 // of those

  bool operator==(const NodeTerms&) const = default;
};

// What a member asks of a node beside its CPUs, and for how long.
struct MemberTerms {
  ResourceList requests{};
  // The nodes that it may use, open or not; null: all that are open. Its owner may change the set
  // (Scheduler::nodes_changed()).
  std::shared_ptr<const NodeSet> nodes{};
  // Never on a node where another member of its job is.
  bool apart = false;
  bool service = false;     // no member of an HPC job (colocation.h)
  std::string job{};        // the id of its job, where it matters who else is on a node
  std::int64_t run_ms = 0;  // it runs no longer than this once it has started; 0: not said

  // Whether the same nodes take both: all but for how long.
  [[nodiscard]] bool same_nodes(const MemberTerms& other) const {
    return requests == other.requests && nodes == other.nodes && apart == other.apart &&
           service == other.service && job == other.job;
  }
  bool operator==(const MemberTerms&) const = default;
};

}  // namespace pinion::cluster
