// Nodes by the holes they have: which nodes could give n CPUs of one domain is answered by looking
// at the tightest holes first, without visiting the nodes that have none.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/holes.h"

namespace pinion::cluster {

using NodeIndex = int;  // of a node in the fleet

class HoleIndex {
 public:
  // `name` must stay where it is until the node is removed.
  void add(NodeIndex node, std::string_view name, const topology::Holes& holes);
  // The node's holes were `before` and are `after`.
  void update(NodeIndex node, std::string_view name, const topology::Holes& before,
              const topology::Holes& after);
  void remove(NodeIndex node, std::string_view name, const topology::Holes& holes);

  // No less than the containers like this one that all nodes together have CPUs for, memory and
  // isolated CPUs aside; cheap.
  [[nodiscard]] std::int64_t room_at_most(const topology::Request& request) const;

  enum class Answer { kNo, kYes, kStop };
  // The first node, in the order of (CPUs of the hole, name), that has a hole of the asked kind
  // with enough CPUs and to which `accepts` says yes; -1: none, or it said stop. A node with
  // several such holes is offered again for each size. Under Smt::kPreferFull those come first that
  // can give it whole cores alone, where its number allows.
  [[nodiscard]] NodeIndex tightest(const topology::Request& request, topology::Align align,
                                   const std::function<Answer(NodeIndex)>& accepts) const;

 private:
  using Nodes = std::set<std::pair<std::string_view, NodeIndex>>;
  using BySize = std::map<int, Nodes>;
  // By CPUs of a whole core (Holes::step), then by CPUs of the hole.
  using ByStep = std::map<int, BySize>;

  void count(const topology::Holes& holes, int by);
  [[nodiscard]] NodeIndex tightest_of(int cpus, std::size_t kind,
                                      const std::function<Answer(NodeIndex)>& accepts) const;

  std::array<ByStep, 12> by_kind_;                      // by Align and Smt
  std::array<std::vector<std::int64_t>, 12> counts_{};  // the same: holes, by their CPUs
};

}  // namespace pinion::cluster
