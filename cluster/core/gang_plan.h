// All workers of a job placed at once on the fleet's view, or none of them and the reason.
//
// Groups go one after another (task_groups.h) to the node with the best score; of equally good
// nodes the one with the least busy memory controllers for a memory-intensive job, then the one
// that loses least of its large holes, then the first by name. A bounded search then takes workers
// off again, in pairs of groups, and places them in another order, and keeps what is better.
// Inside a node the choice is topology::allocate's, the same that the agent will make.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cluster/core/gang_draft.h"

namespace pinion::cluster {

struct Placement {
  std::string id;
  NodeIndex node = -1;
  topology::Decision decision;               // on what the members before it left
  std::vector<topology::Decision> beside{};  // of its other containers, in their order

  bool operator==(const Placement&) const = default;
};

struct GangPlan {
  std::vector<Placement> placements;  // by position of the member
  // Positions of the members, node by node, each node's in the order in which its decisions build
  // on each other.
  std::vector<std::size_t> order;
  Quality first;    // before the search
  Quality quality;  // after it
  int steps = 0;    // decisions of the allocator that the search took

  bool operator==(const GangPlan&) const = default;
};

enum class GangReason {
  kEmpty,       // a gang without members
  kTwice,       // two members have one id, or one of them has CPUs already
  kNever,       // not all fit on this fleet, even with nothing running
  kNoHole,      // no node has a hole for one of its members now
  kTooFew,      // there are such holes, but not enough for all
  kNodeLimit,   // enough for each kind of member, but on more nodes than the job may use
  kFragmented,  // enough for each kind of member, but not for all kinds together
};
[[nodiscard]] std::string_view to_string(GangReason reason);

struct GangRefusal {
  GangReason reason = GangReason::kNoHole;
  topology::Request shape;           // the kind of member that is in the way: its first container
  int beside = 0;                    // its other containers
  int need = 0;                      // members of this kind
  bool apart = false;                // each has to be on a node of its own
  int nodes = 0;                     // nodes that have a hole for one
  int room = 0;                      // of these members the fleet could take
  int largest = 0;                   // most CPUs of one hole on the other nodes
  bool memory = false;               // other nodes have the CPUs, but not the memory beside them
  topology::Bytes memory_there = 0;  // most of it in one such hole
  bool requests = false;             // other nodes have both, but too much else is requested there
  ResourceList requested;            // by one member
  ResourceList left;                 // the most of each that is left on those nodes
  int closed = 0;                    // nodes that the members may not use
  int unheard = 0;                   // that no agent has spoken for
  int silent = 0;                    // whose agent is silent
  int most_nodes = kAnyNumber;       // PlanLimits::nodes
  int job_nodes = 0;                 // where it is already
  int room_there = 0;                // of such members, on as many nodes as it may use
  // One sentence without names of nodes, so that equal causes have equal texts:
  // "needs 4 x 8 CPUs in one NUMA node; 3 nodes have such a hole, largest elsewhere 6"
  std::string text;
};

using GangOutcome = std::variant<GangPlan, GangRefusal>;

// Deterministic: equal fleets, gangs and limits give equal outcomes.
[[nodiscard]] GangOutcome plan_gang(const FleetView& fleet, const Gang& gang,
                                    const PlanLimits& limits = {});

// Promises every placement of the plan on the fleet, in its order, or none: true when all are held.
// False when the fleet has changed since in such a way that one no longer fits.
[[nodiscard]] bool promise_gang(Fleet& fleet, const Gang& gang, const GangPlan& plan,
                                std::int64_t expires_ms);

}  // namespace pinion::cluster
