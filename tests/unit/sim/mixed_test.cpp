// The mixed load of the virtual-cluster paper: what must hold under each policy, and their order.
#include "cluster/sim/mixed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "tests/support/machine.h"

namespace pinion::sim {
namespace {

constexpr int kThreads = 64;  // of a server

MixedServer server() {
  test_support::MachineSpec spec{.packages = 4,
                                 .l3s_per_node = 2,
                                 .cores_per_l3 = 4,
                                 .threads_per_core = 2,
                                 .siblings = test_support::Siblings::kAdjacent};
  MixedServer server;
  server.machine = std::make_shared<const topology::Topology>(test_support::machine(spec));
  spec.packages = 5;
  server.with_system = std::make_shared<const topology::Topology>(test_support::machine(spec));
  server.system = *topology::CpuSet::parse("64-79");
  return server;
}

MixedRun play_mixed(MixedPolicy policy, std::uint64_t seed = 1) {
  const auto run = run_mixed(server(), {.policy = policy, .seed = seed, .check = seed == 1});
  EXPECT_TRUE(run) << run.error().text;
  return run ? *run : MixedRun();
}

// The same, once for all tests.
const MixedRun& played(MixedPolicy policy) {
  static std::map<MixedPolicy, MixedRun> runs;
  const auto known = runs.find(policy);
  return known != runs.end() ? known->second
                             : runs.emplace(policy, play_mixed(policy)).first->second;
}

// Most CPUs of a server that these want at one time.
template <class Which>
int most_on_a_server(const MixedRun& run, Which which) {
  std::map<int, std::map<Ms, int>> changes;
  for (const JobRecord& record : run.records) {
    if (!which(record)) continue;
    for (const Piece& piece : record.pieces) {
      changes[piece.node][record.start] += piece.tasks;
      changes[piece.node][record.end] -= piece.tasks;
    }
  }
  int most = 0;
  for (const auto& [server, moments] : changes) {
    int wanted = 0;
    for (const auto& [now, change] : moments) most = std::max(most, wanted += change);
  }
  return most;
}

TEST(MixedJobs, AreThePapersMix) {
  std::map<int, double> work;
  std::map<std::string, int> services;
  double of_services = 0;
  for (const Job& job : mixed_jobs({.services = 0.3, .seed = 7})) {
    const double cpu_seconds = static_cast<double>(job.run) / 1000 * job.shape.tasks;
    if (job.service) {
      ++services[job.kind];
      of_services += cpu_seconds;
    } else {
      work[job.shape.tasks] += cpu_seconds;
    }
  }
  EXPECT_EQ(services, (std::map<std::string, int>{{"memcached", 5}, {"nginx", 5}, {"spark", 5}}));
  double hpc = 0;
  for (const auto& [threads, cpu_seconds] : work) hpc += cpu_seconds;
  EXPECT_NEAR(hpc + of_services, 0.9 * 320 * 11'200, 100);
  EXPECT_NEAR(of_services / (hpc + of_services), 0.3, 1e-3);
  EXPECT_NEAR(work[16] / hpc, 0.05, 1e-3);
  EXPECT_NEAR(work[32] / hpc, 0.20, 1e-3);
  EXPECT_NEAR(work[64] / hpc, 0.65, 1e-3);
  EXPECT_NEAR(work[128] / hpc, 0.10, 1e-3);
}

struct Case {
  MixedPolicy policy;
  bool overcommits;  // two schedulers give the same CPUs away
  bool spreads;      // an HPC job is never twice on a server
};

class MixedPolicies : public testing::TestWithParam<Case> {};

TEST_P(MixedPolicies, RunEverythingInsideTheServers) {
  const MixedRun& run = played(GetParam().policy);
  EXPECT_EQ(run.records.size(), mixed_jobs({}).size());
  const auto all = [](const JobRecord&) { return true; };
  const auto services = [](const JobRecord& record) { return record.job.service; };
  const auto hpc = [](const JobRecord& record) { return !record.job.service; };
  EXPECT_LE(most_on_a_server(run, services), kThreads);
  EXPECT_LE(most_on_a_server(run, hpc), kThreads);
  EXPECT_EQ(most_on_a_server(run, all) > kThreads, GetParam().overcommits);
  EXPECT_GT(run.utilisation, 0.5);
  EXPECT_LE(run.utilisation, 1);
  EXPECT_GE(run.hpc_stretch, 1);
  for (const JobRecord& record : run.records) {
    std::set<int> nodes;
    for (const Piece& piece : record.pieces) {
      EXPECT_GE(piece.node, 0);
      EXPECT_LT(piece.node, kMixedServers);
      nodes.insert(piece.node);
    }
    EXPECT_TRUE(!record.job.service || record.pieces.size() == 1);
    EXPECT_TRUE(!GetParam().spreads || nodes.size() == record.pieces.size());
  }
}

TEST_P(MixedPolicies, GiveTheSameForTheSameSeed) {
  const auto text_of = [](const MixedRun& run) {
    std::string text;
    for (const JobRecord& record : run.records) {
      text +=
          record.job.name + " " + std::to_string(record.start) + " " + std::to_string(record.end);
      for (const Piece& piece : record.pieces) text += " " + std::to_string(piece.node);
      text += "\n";
    }
    return text;
  };
  EXPECT_EQ(text_of(played(GetParam().policy)), text_of(play_mixed(GetParam().policy)));
  EXPECT_NE(mixed_jobs({.seed = 3}).back().name, mixed_jobs({.seed = 4}).back().name);
}

INSTANTIATE_TEST_SUITE_P(All, MixedPolicies,
                         testing::Values(Case{MixedPolicy::kPartitioned, false, true},
                                         Case{MixedPolicy::kUnmanaged, true, true},
                                         Case{MixedPolicy::kLeastLoaded, false, true},
                                         Case{MixedPolicy::kMostLoaded, false, true},
                                         Case{MixedPolicy::kOurs, false, false}),
                         [](const auto& tested) {
                           std::string name(word_of(tested.param.policy, kMixedWords));
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

TEST(Mixed, APartitionKeepsTheLoadsApart) {
  for (const JobRecord& record : played(MixedPolicy::kPartitioned).records) {
    for (const Piece& piece : record.pieces) EXPECT_EQ(piece.node < 2, record.job.service);
  }
}

TEST(Mixed, ThePoliciesAreInThePapersOrder) {
  std::map<MixedPolicy, double> seconds;
  for (const MixedPolicy policy : {MixedPolicy::kPartitioned, MixedPolicy::kUnmanaged,
                                   MixedPolicy::kLeastLoaded, MixedPolicy::kMostLoaded}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      seconds[policy] += play_mixed(policy, seed).seconds;
    }
  }
  EXPECT_LT(seconds[MixedPolicy::kLeastLoaded], seconds[MixedPolicy::kMostLoaded]);
  EXPECT_LT(seconds[MixedPolicy::kLeastLoaded], seconds[MixedPolicy::kUnmanaged]);
  EXPECT_LT(seconds[MixedPolicy::kMostLoaded], seconds[MixedPolicy::kPartitioned]);
  EXPECT_LT(seconds[MixedPolicy::kUnmanaged], seconds[MixedPolicy::kPartitioned]);
}

TEST(Mixed, OursIsNoSlowerThanThePapersBest) {
  EXPECT_LT(played(MixedPolicy::kOurs).seconds, 1.01 * played(MixedPolicy::kLeastLoaded).seconds);
}

TEST(Mixed, AJobThatNoServerCouldTakeIsRefusedByName) {
  MixedServer small = server();
  small.system = *topology::CpuSet::parse("0-79");
  small.system -= topology::CpuSet{0, 1};
  const auto run = run_mixed(small, {});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().text.substr(0, 11), "job nginx-0") << run.error().text;
}

}  // namespace
}  // namespace pinion::sim
