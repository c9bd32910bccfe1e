#include "cluster/slurm/node_json.h"
#include "tests/support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace pinion::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Node> nodes_of(const std::string& name) {
  std::ifstream file(test_support::in_checkout("tests/fuzz/corpus/slurm_nodes/" + name));
  std::ostringstream text;
  text << file.rdbuf();
  const auto nodes = read_nodes(text.str());
  EXPECT_TRUE(nodes) << name;
  return nodes ? *nodes : std::vector<Node>();
}

// Captured from Slurm 22.05.8: one is drained, of one slurmd was stopped, of one never started.
TEST(NodeJson, IsReadAsSlurmWritesIt) {
  const auto nodes = nodes_of("slurm_22.05");
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].name, "node-0");
  EXPECT_EQ(nodes[0].out, "IDLE+DRAIN (disk)");
  EXPECT_EQ(nodes[1], (Node{.name = "node-1",
                            .out = "",
                            .features = {"gpu", "ib"},
                            .partitions = {"main", "night"}}));
  EXPECT_EQ(nodes[2].out, "DOWN+NOT_RESPONDING (Not responding)");
  EXPECT_EQ(nodes[3].out, "UNKNOWN+NOT_RESPONDING");
}

TEST(NodeJson, LaterVersionsWriteLists) {
  const auto nodes = nodes_of("later_versions");
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_EQ(nodes[0].out, "");
  EXPECT_EQ(nodes[0].features, (std::set<std::string>{"gpu", "ib"}));
  EXPECT_THAT(nodes[0].partitions, ElementsAre("main", "night"));
  EXPECT_EQ(nodes[1].out, "IDLE+DRAIN (bad disk)");
  EXPECT_EQ(nodes[2].out, "DOWN+NOT_RESPONDING (Not responding)");
  EXPECT_EQ(nodes[3].out, "") << "its last job is ending";
  EXPECT_EQ(nodes[4].out, "of no known state");
}

TEST(NodeJson, AnErrorIsNoEmptyList) {
  for (const char* text : {"", "slurm_load_node error: Unable to contact slurm controller", "[]",
                           R"({"nodes": {}})", R"({"nodes": [], "errors": [{"error": "x"}]})"}) {
    EXPECT_FALSE(read_nodes(text)) << text;
  }
  EXPECT_THAT(read_nodes(R"({"nodes": []})").value(), IsEmpty());
}

}  // namespace
}  // namespace pinion::slurm
