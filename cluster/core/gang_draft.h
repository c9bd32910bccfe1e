// A plan in the making: which members of a gang are on which node, and how good that is. Every step
// can be taken back; internal to gang_plan.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cluster/core/fleet_view.h"
#include "cluster/core/gang.h"
#include "cluster/core/task_groups.h"

namespace pinion::cluster {

// How good a plan is, member by member in this order; less is better.
struct Quality {
  int unplaced = 0;        // members without a node; 0 in a plan
  int fragments = 0;       // pairs of a group and a node that it lies on
  int mixed = 0;           // pairs of groups of the job on one node
  int pressure = 0;        // memory-intensive: busy levels of the nodes, summed over the members
  std::int64_t holes = 0;  // squared CPUs of the free holes that the plan cost

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the defaulted operator
  auto operator<=>(const Quality&) const = default;
};

// Nodes by whether their agents are silent, each ascending by name.
struct NodesAmong {
  std::vector<NodeIndex> heard{};
  std::vector<NodeIndex> silent{};
};

// Those of the fleet's nodes that are among these; null: all.
[[nodiscard]] NodesAmong nodes_among(const FleetView& fleet, const std::vector<NodeIndex>* among);

class Draft {
 public:
  using Members = std::vector<std::size_t>;  // positions in the gang

  // The fleet and the gang are only read and must outlive it.
  Draft(const FleetView& fleet, const Gang& gang, const PlanLimits& limits);

  // The members of each task group, larger requests first; groups in placing order.
  [[nodiscard]] const std::vector<Members>& groups() const { return groups_; }
  // Finds nodes for these members of one group; those that fit nowhere stay without one.
  // Precondition: they have none.
  void place(const Members& members);
  // Takes them off their nodes. False when those that stay on such a node would not get CPUs there
  // again: then the step must be taken back.
  [[nodiscard]] bool remove(const Members& members);

  // From here to commit() or undo() is one step.
  void begin();
  void commit();
  void undo();

  [[nodiscard]] Quality quality() const;
  [[nodiscard]] int decisions() const { return decisions_; }  // asked of the allocator so far
  [[nodiscard]] NodeIndex node_of(std::size_t member) const { return placed_[member].node; }
  // One for each of its containers.
  [[nodiscard]] const std::vector<topology::Decision>& decisions_of(std::size_t member) const {
    return placed_[member].decisions;
  }
  // Members by node, in the order of their decisions.
  [[nodiscard]] std::map<NodeIndex, Members> by_node() const;
  // The nodes it may use, ascending by name.
  [[nodiscard]] const std::vector<NodeIndex>& allowed() const { return among_.heard; }
  // Those that it could, if their agents were not silent.
  [[nodiscard]] const std::vector<NodeIndex>& silent() const { return among_.silent; }
  [[nodiscard]] const FleetView& fleet() const { return fleet_; }
  [[nodiscard]] int most_nodes() const { return most_nodes_; }
  // Nodes where something of the job is, or is planned.
  [[nodiscard]] int nodes() const;
  [[nodiscard]] bool is_on(NodeIndex node) const;
  // So many nodes that together take most of the gang, as far as a look tells: those where the job
  // is, and one after another the one that takes most of what is left. Precondition: nobody is
  // placed.
  [[nodiscard]] std::vector<NodeIndex> roomiest();

  // Members that are alike but for their names.
  struct Shape {
    GangMember request;  // of the first of them
    Members members;
  };
  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }
  [[nodiscard]] std::size_t shape_of(std::size_t member) const { return shape_of_[member]; }

 private:
  // How many members of each shape: (shape, number), ascending by shape.
  using Count = std::vector<std::pair<std::size_t, int>>;
  // How a node that has no member yet would serve a number of members.
  struct Candidate {
    int fit = 0;
    int pressure = 0;
    std::int64_t loss = 0;  // as Quality::holes
    NodeIndex node = -1;
  };
  // A node on which the job has something, or that has refused something.
  struct Used {
    topology::Ledger ledger;
    topology::Holes holes;
    ResourceList spare{};
    Members sequence{};               // its members, in the order of their decisions
    std::map<int, int> groups{};      // containers of the job there, by group
    std::set<std::size_t> refused{};  // shapes that did not fit against the estimate
  };
  struct Placed {
    NodeIndex node = -1;
    std::vector<topology::Decision> decisions{};
  };
  struct Choice {
    int score = 0;
    int other_groups = 0;
    Candidate candidate{};
  };

  void find_shapes();
  void find_groups();
  int group_number(const std::string& task_group);
  Count count(const Members& members) const;
  // The count without what no node could take at once anyway, so that few different ones remain.
  Count capped(Count count) const;
  const std::vector<Candidate>& candidates(const Count& count);
  Candidate candidate(NodeIndex node, const topology::Holes& holes, const ResourceList& spare,
                      const Count& count);
  int at_once(NodeIndex node, ResourceList& spare, const GangMember& member, int wanted);
  // Makes the scratch holes these, as far as a request of the gang looks at them.
  void scratch(const topology::Holes& holes);
  int together_at_once(const GangMember& member, int wanted);
  [[nodiscard]] bool may_take(NodeIndex node, const GangMember& member) const;
  std::optional<Choice> choose(const Members& members, int group);
  bool is_better(const Choice& a, const Choice& b) const;
  Used& use(NodeIndex node);
  // Returns those that the node did not take.
  Members fill(NodeIndex node, const Members& members, int most);
  bool grant(Used& used, NodeIndex node, std::size_t member);
  bool rebuild(NodeIndex node);
  void remember(NodeIndex node);
  void remember(std::size_t member);

  const FleetView fleet_;
  const Gang& gang_;
  const int most_nodes_;
  const NodesAmong among_;
  int elsewhere_ = 0;  // nodes where the job is, that are not among those
  std::vector<Shape> shapes_;
  std::vector<std::size_t> shape_of_;  // by member
  std::map<std::string, int> group_numbers_;
  std::vector<int> group_of_;  // by member
  std::vector<Members> groups_;
  std::map<Count, std::vector<Candidate>> candidates_;
  topology::Align narrowest_ = topology::Align::kNone;  // that a request asks for
  topology::Holes scratch_;                             // to take out of; kept for its memory
  std::vector<int> most_at_once_;  // by shape: members that the best node takes

  std::map<NodeIndex, Used> used_;
  std::vector<Placed> placed_;  // by member
  int decisions_ = 0;

  bool recording_ = false;
  std::map<NodeIndex, std::optional<Used>> used_before_;
  std::map<std::size_t, Placed> placed_before_;
};

}  // namespace pinion::cluster
