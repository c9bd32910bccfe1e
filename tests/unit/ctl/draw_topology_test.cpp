// The whole pictures are in tests/golden; here are the parts that no golden machine shows.
#include "ctl/machine/draw_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/machine.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;
using topology::CpuSet;
using topology::Facts;

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    widest = std::max(widest, end - from);
    from = end + 1;
  }
  return widest;
}

TEST(StandingLayers, MarkReservedIsolatedAndBoth) {
  const auto machine = test_support::machine({.cores_per_l3 = 4, .isolated = {1, 2}});
  const std::vector<Layer> layers = standing_layers(machine, CpuSet{0, 1});
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].mark, 'b');
  EXPECT_EQ(layers[0].cpus, (CpuSet{1}));
  EXPECT_EQ(layers[1].mark, 'r');
  EXPECT_EQ(layers[1].cpus, (CpuSet{0}));
  EXPECT_EQ(layers[2].mark, 'i');
  EXPECT_EQ(layers[2].cpus, (CpuSet{2}));
  EXPECT_TRUE(standing_layers(test_support::laptop(), {}).empty());
}

TEST(DrawTopology, GivesTheFirstLayerThatHoldsACpu) {
  const auto machine = test_support::two_core_vm();
  const std::string picture =
      draw_topology(machine, {{'A', "first", CpuSet{0}}, {'B', "second", CpuSet{0, 1}}});
  EXPECT_THAT(picture, HasSubstr("[0A] [1B]\n"));
  EXPECT_THAT(picture, HasSubstr("A  first: CPU 0\n"));
  EXPECT_THAT(picture, HasSubstr("B  second: CPUs 0-1\n"));
}

TEST(DrawTopology, LeavesNoRoomForMarksWithoutLayers) {
  EXPECT_THAT(draw_topology(test_support::two_core_vm(), {}), HasSubstr("[0] [1]\n"));
}

TEST(DrawTopology, OfNothingIsASentence) {
  EXPECT_EQ(draw_topology({}, {}), "no CPUs\n");
}

TEST(DrawTopology, StaysWithinThePageWhateverTheMachine) {
  Facts facts = test_support::facts_of({.packages = 4, .nodes_per_package = 16, .cores_per_l3 = 4});
  // Every second node is nearer: the longest lists.
  for (std::size_t from = 0; from < facts.memories.size(); ++from) {
    for (std::size_t to = 0; to < facts.memories.size(); ++to) {
      facts.memories[from].distance[to] = from == to ? 10 : 20 + static_cast<int>(to % 2);
    }
  }
  // And CPUs numbered across the packages.
  for (Facts::Thread& thread : facts.threads) thread.cpu = (thread.cpu % 64) * 4 + thread.cpu / 64;
  const auto machine = test_support::machine(facts);
  CpuSet even;
  for (int cpu = 0; cpu < 256; cpu += 2) even.add(cpu);
  const std::string picture = draw_topology(machine, standing_layers(machine, even));
  EXPECT_LE(widest_line(picture), 100U);
  EXPECT_THAT(picture, HasSubstr("distance 20 to "));
}

TEST(DrawTopology, KeepsUnlikeNodesWithoutCpusApart) {
  Facts facts = test_support::facts_of({.cores_per_l3 = 2, .memory_only_nodes = 4});
  facts.memories[2].bytes *= 2;
  const std::string picture = draw_topology(test_support::machine(facts), {});
  EXPECT_THAT(picture, HasSubstr("  Nodes 1,3-4  16.0 GiB each  distance 80 to 0\n"));
  EXPECT_THAT(picture, HasSubstr("  Node 2  32.0 GiB  distance 80 to 0\n"));
  EXPECT_THAT(picture, Not(HasSubstr("Node 1 ")));
}

}  // namespace
}  // namespace pinion::ctl
