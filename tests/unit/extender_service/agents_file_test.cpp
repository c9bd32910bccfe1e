#include "cluster/extender/program/agents_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

TEST(AgentsFile, IsAList) {
  const auto agents = parse_agents(
      "agents:\n  - {node: a, address: \"192.0.2.1:9465\"}\n"
      "  - node: b\n    address: unix:/run/pinion/agent.sock\n");
  ASSERT_TRUE(agents) << agents.error().text;
  EXPECT_THAT(*agents, testing::ElementsAre(AgentAddress{"a", "192.0.2.1:9465"},
                                            AgentAddress{"b", "unix:/run/pinion/agent.sock"}));
  const auto none = parse_agents("agents: []\n");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

struct Bad {
  const char* name;
  const char* text;
  const char* error;
};
void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.name;
}

class BadAgents : public testing::TestWithParam<Bad> {};

TEST_P(BadAgents, AreRefusedWithTheLine) {
  const auto agents = parse_agents(GetParam().text);
  ASSERT_FALSE(agents);
  EXPECT_EQ(agents.error().text, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadAgents,
    testing::Values(
        Bad{"empty", "", "expected 'agents:' and a list"},
        Bad{"another_key", "agents: []\nother: 1\n", "expected 'agents:' and a list"},
        Bad{"two_documents", "agents: []\n---\nagents: []\n",
            "line 2: a second document, of which nothing would be read"},
        Bad{"no_list", "agents: a\n", "line 1: agents: expected a list"},
        Bad{"no_map", "agents:\n  - a\n", "line 2: expected {node: NAME, address: ADDRESS}"},
        Bad{"unknown", "agents:\n  - {node: a, port: 1}\n",
            "line 2: unknown key 'port', use node and address"},
        Bad{"no_address", "agents:\n  - {node: a}\n", "line 2: an agent needs node and address"},
        Bad{"nested", "agents:\n  - {node: [a], address: b}\n",
            "line 2: expected a key and a single value"},
        Bad{"twice", "agents:\n  - {node: a, address: b}\n  - {node: a, address: c}\n",
            "line 3: node a is there twice"}),
    [](const auto& one) { return one.param.name; });

TEST(AgentsFile, AMissingFileIsNamed) {
  const auto agents = read_agents("/nowhere/agents.yaml");
  ASSERT_FALSE(agents);
  EXPECT_EQ(agents.error().code, Errc::kNotFound);
  EXPECT_THAT(agents.error().text, testing::HasSubstr("/nowhere/agents.yaml"));
}

}  // namespace
}  // namespace pinion::cluster
