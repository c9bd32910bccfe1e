// What members leave behind: NUMA nodes that become wholly free, and room for others.
#include "cluster/core/whole_nodes.h"

#include <gtest/gtest.h>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using topology::CpuSet;

CpuSet cpus(const char* list) {
  return *CpuSet::parse(list);
}

// Nodes a and b, each with NUMA nodes 0-3 and 4-7; CPU 0 is reserved.
class WholeNodes : public testing::Test {
 protected:
  void node(const std::string& name, const std::vector<const char*>& claims,
            const CpuSet& isolated = {}) {
    NodeReport report =
        report_of(name, machine_of({.packages = 2, .cores_per_l3 = 4, .isolated = isolated}));
    for (const char* claim : claims) report.claims.push_back(claim_of(name + claim, claim));
    const auto lost = fleet_.report(std::move(report), 0);
    ASSERT_TRUE(lost) << lost.error().text;
  }

  struct Leaver {
    const char* node;
    const char* cpus;
  };
  std::vector<std::int64_t> freed(const std::vector<Leaver>& leavers) const {
    std::vector<HeldCpus> leaving;
    for (const auto& [node, list] : leavers) {
      leaving.push_back({.node = fleet_.find(node), .cpus = cpus(list)});
    }
    return whole_nodes_freed(fleet_, leaving);
  }

  using Freed = std::vector<std::int64_t>;
  Fleet fleet_;
};

TEST_F(WholeNodes, BecomeFreeWithTheLastWhoIsThere) {
  node("a", {"1", "2-3", "4-5", "6-7"});
  node("b", {"4-5", "6"});
  struct Case {
    const char* name;
    std::vector<Leaver> leaving;
    Freed freed;
  };
  for (const Case& c : {
           Case{"nobody", {}, {}},
           Case{"without the reserved CPU", {{"a", "1"}, {"a", "2-3"}}, {0, 3}},
           Case{"in the other order", {{"a", "2-3"}, {"a", "1"}}, {0, 3}},
           Case{"one after the other",
                {{"a", "4-5"}, {"a", "6-7"}, {"a", "1"}, {"a", "2-3"}},
                {0, 4, 4, 7}},
           Case{"one of each", {{"a", "4-5"}, {"a", "1"}}, {0, 0}},
           Case{"on two machines",
                {{"b", "6"}, {"a", "4-5"}, {"b", "4-5"}, {"a", "6-7"}},
                {0, 0, 3, 7}},
           Case{"in both NUMA nodes at once", {{"a", "1,4-5"}, {"a", "2-3,6-7"}}, {0, 7}},
           Case{"CPUs that nobody has", {{"b", "1-3"}}, {0}},
           Case{"twice the same", {{"b", "4-6"}, {"b", "4-6"}}, {3, 3}},
       }) {
    EXPECT_EQ(freed(c.leaving), c.freed) << c.name;
  }
}

TEST_F(WholeNodes, HaveNoIsolatedCpus) {
  node("a", {"4-5", "6-7"}, CpuSet{6, 7});
  EXPECT_EQ(freed({{"a", "4-5"}}), Freed{2}) << "they are not in the way";
  EXPECT_EQ(freed({{"a", "6-7"}, {"a", "4-5"}}), (Freed{0, 2}));
}

TEST_F(WholeNodes, HaveRoomForOthersWhenSomebodyHasLeft) {
  node("a", {"1", "2", "4-5", "6"});
  node("b", {"4", "5-7"});
  const auto room = [&](int each, const std::vector<Leaver>& leavers,
                        topology::Strength strength = topology::Strength::kRequired) {
    std::vector<HeldCpus> leaving;
    for (const auto& [node, list] : leavers) {
      leaving.push_back({.node = fleet_.find(node), .cpus = cpus(list)});
    }
    topology::Request request;
    request.id = "next";
    request.cpus = each;
    request.align = topology::Align::kNuma;
    request.strength = strength;
    return RoomWhenLeft(fleet_, leaving).of(request);
  };
  EXPECT_EQ(room(3, {}), 1) << "1-3 of b";
  EXPECT_EQ(room(3, {{"a", "4-5"}}), 2) << "4, 5 and 7";
  EXPECT_EQ(room(3, {{"a", "1"}, {"a", "6"}}), 1) << "1 and 3 are two";
  EXPECT_EQ(room(3, {{"a", "1"}, {"a", "2"}, {"b", "5-7"}}), 3);
  EXPECT_EQ(room(1, {{"a", "1"}}), 6) << "3 and 7 of a, 1-3 of b, and one more";
  EXPECT_EQ(room(5, {{"b", "4"}}), 0);
  EXPECT_EQ(room(5, {{"b", "5-7"}}, topology::Strength::kPreferred), 1);
}

}  // namespace
}  // namespace pinion::cluster
