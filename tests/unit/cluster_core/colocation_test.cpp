// Which loads share nodes, and which node a service fills: the paper's rules and ours.
#include "cluster/core/colocation.h"

#include <gtest/gtest.h>

#include "cluster/core/node_score.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

struct Case {
  const char* name;
  ColocationRules rules;
  Unwelcome job;      // "j" to where another job is
  Unwelcome to_own;   // "j" to where it is itself
  Unwelcome beside;   // "j" to where a service is
  Unwelcome service;  // a service to where a job is
};

class Rules : public testing::TestWithParam<Case> {};

TEST_P(Rules, SayWhoJoinsWhom) {
  const Case& expected = GetParam();
  const Occupants other{.jobs = {{"other", 2}}};
  const Occupants own{.jobs = {{"j", 1}}};
  const Occupants served{.services = 1};
  EXPECT_EQ(unwelcome(expected.rules, false, "j", other), expected.job);
  EXPECT_EQ(unwelcome(expected.rules, false, "j", own), expected.to_own);
  EXPECT_EQ(unwelcome(expected.rules, false, "j", served), expected.beside);
  EXPECT_EQ(unwelcome(expected.rules, true, "s", other), expected.service);
  EXPECT_EQ(unwelcome(expected.rules, true, "s", served), Unwelcome::kNo);
  for (const bool service : {false, true}) {
    EXPECT_EQ(unwelcome(expected.rules, service, "j", {}), Unwelcome::kNo);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rules,
                         testing::Values(Case{"ByDefaultAllShare",
                                              {},
                                              Unwelcome::kNo,
                                              Unwelcome::kNo,
                                              Unwelcome::kNo,
                                              Unwelcome::kNo},
                                         Case{"JobsDoNotShare",
                                              {.jobs_share = false},
                                              Unwelcome::kOtherJob,
                                              Unwelcome::kNo,
                                              Unwelcome::kNo,
                                              Unwelcome::kNo},
                                         Case{"DedicatedNodes",
                                              {.services_beside = false},
                                              Unwelcome::kNo,
                                              Unwelcome::kNo,
                                              Unwelcome::kServices,
                                              Unwelcome::kJobs},
                                         Case{"Both",
                                              {.jobs_share = false, .services_beside = false},
                                              Unwelcome::kOtherJob,
                                              Unwelcome::kNo,
                                              Unwelcome::kServices,
                                              Unwelcome::kJobs}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Nodes of two sockets with 16 CPUs to give each.
class NodeScore : public testing::Test {
 protected:
  void SetUp() override { add_paper_nodes(fleet_); }

  void busy(const std::string& node, int cpus,
            topology::Profile profile = topology::Profile::kNone) {
    topology::Request request = request_of("busy-" + std::to_string(++busy_), cpus);
    request.profile = profile;
    const auto outcome = fleet_.promise(fleet_.find(node), request, kNoExpiry);
    ASSERT_TRUE(outcome && std::holds_alternative<topology::Decision>(*outcome));
  }
  // All of its CPUs, of which pods without CPUs of their own request so many.
  void requested(const std::string& node, int shared_cpus) {
    const FleetNode& there = fleet_.node(fleet_.find(node));
    const std::int64_t taken = std::int64_t{1000} * there.ledger.exclusive().count();
    fleet_.set_terms(fleet_.find(node),
                     {.capacity = {.milli_cpus = 32'000, .memory = 1, .members = 100},
                      .others = {.milli_cpus = shared_cpus * std::int64_t{1000}}},
                     {.milli_cpus = taken});
  }
  [[nodiscard]] int fill(const std::string& node, std::int64_t milli = 4000) const {
    return fill_score(fleet_.node(fleet_.find(node)), milli);
  }
  [[nodiscard]] int load(const std::string& node) const {
    return ask_score(fleet_, fleet_.find(node), {.placement = PlacementPolicy::kMostLoaded});
  }

  Fleet fleet_;
  int busy_ = 0;
};

TEST_F(NodeScore, AServiceFillsTheTightNodeAndNotTheHoleOfAGang) {
  busy("node-1", 12);  // 4 are left of one socket: no other hole loses any
  busy("node-2", 8);   // 8
  busy("node-3", 15);  // 1: most come from a whole socket
  EXPECT_GT(fill("node-1"), fill("node-2"));
  EXPECT_GT(fill("node-2"), fill("node-3"));
  EXPECT_GT(fill("node-3"), fill("node-0"));
  EXPECT_EQ(fill("node-0"), 3) << "as loose as can be, and quiet";
}

TEST_F(NodeScore, ANodeWithTooFewFreeCpusScoresNothing) {
  busy("node-0", 16);
  busy("node-0", 14);
  EXPECT_GT(fill("node-0", 2000), 0);
  EXPECT_EQ(fill("node-0", 2001), 0);
  requested("node-1", 30);
  EXPECT_GT(fill("node-1", 2000), 0);
  EXPECT_EQ(fill("node-1", 2001), 0);
}

TEST_F(NodeScore, ServicesGoOnFillingWhereServicesAre) {
  requested("node-0", 0);
  requested("node-1", 10);
  EXPECT_GT(fill("node-1"), fill("node-0"));
}

TEST_F(NodeScore, OfTwoTightNodesTheQuietOneIsBetter) {
  for (const char* node : {"node-0", "node-1"}) {
    busy(node, 12, topology::Profile::kMemory);
    busy(node, 16, topology::Profile::kMemory);
  }
  EXPECT_EQ(fill("node-0"), fill("node-1"));
  // What is measured counts more than what is said: those of node-0 hardly miss.
  fleet_.measured(fleet_.find("node-0"), {{"busy-1", 1e5}, {"busy-2", 1e5}});
  EXPECT_GT(fill("node-0"), fill("node-1"));
  // So little, that a noisy tight node is not worse than a quiet loose one.
  EXPECT_GT(fill("node-1"), fill("node-2"));
}

TEST_F(NodeScore, TheLoadIsWhatIsTakenOrRequested) {
  EXPECT_EQ(load("node-0"), 0);
  busy("node-0", 16);
  EXPECT_EQ(load("node-0"), 5);
  requested("node-0", 8);
  EXPECT_EQ(load("node-0"), 7);
  requested("node-1", 40);
  EXPECT_EQ(load("node-1"), 10);
}

}  // namespace
}  // namespace pinion::cluster
