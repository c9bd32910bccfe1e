// Several NUMA nodes for real: where ranks and their memory lie, what is refused, and what outlives
// restarts.
#include <filesystem>

#include "tests/guest/guest_node.h"
#include "tests/guest/kernel_settings.h"
#include "tests/integration/pinionctl.h"

namespace pinion::guest {
namespace {

constexpr Milliseconds kSoon{5000};

class Guest_Numa : public GuestTest {
 protected:
  // All CPUs are back at the end of a case, however it ends.
  void TearDown() override {
    const Status back = set_online(away_, true);
    EXPECT_TRUE(ok(back));
    GuestTest::TearDown();
  }

  // The kernel's own switch, CPU by CPU.
  Status set_online(const CpuSet& cpus, bool online) {
    for (const int cpu : cpus) {
      const auto path = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
      if (Status done = lab::write_existing(path, online ? "1" : "0"); !done) return done;
    }
    away_ = online ? CpuSet() : cpus;
    return {};
  }

  // No task of the container may run there.
  testing::AssertionResult is_kept_off(const Running& container, const CpuSet& cpus) const {
    const CpuSet has = file(container);
    if (has.empty() || has.intersects(cpus)) {
      return testing::AssertionFailure() << container.pod.spec.name << " has " << has.to_string()
                                         << ", not off " << cpus.to_string();
    }
    return tasks_allowed(container, has);
  }

 private:
  CpuSet away_;
};

TEST_P(Guest_Numa, ARankLiesInOneNodeWithItsMemory) {
  ASSERT_TRUE(ok(start_agent()));
  const auto shared = start_shared("shared");
  ASSERT_TRUE(ok(shared));
  for (const char* name : {"first", "second"}) {
    SCOPED_TRACE(name);
    const auto rank = start_rank(name, 2, {{"job", "job"}});
    if (!rank && largest_node() < 3) break;  // node 0 has one core beside the reserved one
    ASSERT_TRUE(ok(rank));
    const CpuSet own = file(rank->running);
    EXPECT_EQ(own.count(), 2 * machine().width);
    EXPECT_FALSE(own.intersects(file(*shared)));
    const auto* home = node_of(own);
    ASSERT_NE(home, nullptr) << own.to_string();
    EXPECT_EQ(mems(*rank).to_string(), std::to_string(home->id));
    EXPECT_TRUE(tasks_allowed(rank->running, own));
    EXPECT_TRUE(memory_is_local(*rank));
  }
  EXPECT_TRUE(no_drift());
}

TEST_P(Guest_Numa, ARankLiesInOneL3) {
  ASSERT_TRUE(ok(start_agent()));
  int largest = 0;
  for (const auto& l3 : machine().topology.l3s) largest = std::max(largest, l3.cpus.count());
  largest /= machine().width;
  const auto rank = start_rank("l3", largest, {{"align", "l3"}, {"strength", "required"}});
  ASSERT_TRUE(ok(rank));
  const auto* home = l3_of(file(rank->running));
  ASSERT_NE(home, nullptr) << file(rank->running).to_string();
  EXPECT_EQ(home->cpus, file(rank->running));
  EXPECT_TRUE(memory_is_local(*rank));
  const auto why = refusal_of("larger", largest + 1, {{"align", "l3"}, {"strength", "required"}});
  EXPECT_NE(why.find("not enough CPUs in any L3 domain"), std::string::npos) << why;
}

// Ranks as large as a node, until none is left: each has a node, the next is told what would fit.
TEST_P(Guest_Numa, WhatDoesNotFitInOneNodeIsRefusedWithTheReason) {
  ASSERT_TRUE(ok(start_agent()));
  const int cores = largest_node();
  std::vector<Rank> ranks;
  // The node with the reserved core cannot hold one.
  for (std::size_t i = 1; i < nodes_with_cpus().size(); ++i) {
    auto rank = start_rank("whole", cores, {{"job", "job"}});
    ASSERT_TRUE(ok(rank)) << "rank " << i;
    EXPECT_NE(node_of(file(rank->running)), nullptr);
    ranks.push_back(std::move(*rank));
  }
  const auto why = refusal_of("more", cores, {{"job", "job"}});
  EXPECT_NE(why.find("not enough free CPUs in any NUMA node"), std::string::npos) << why;
  EXPECT_NE(why.find("would fit"), std::string::npos) << why;
  const auto status = agent().status();
  ASSERT_TRUE(ok(status));
  EXPECT_EQ(status->counters.at("refused.cpus"), 1);
  EXPECT_TRUE(no_drift());
}

TEST_P(Guest_Numa, APreferredRankClimbsWhereNoNodeIsLargeEnough) {
  ASSERT_TRUE(ok(start_agent()));
  const int cores = largest_node() + 1;
  const auto why = refusal_of("required", cores, {{"strength", "required"}});
  EXPECT_NE(why.find("not enough CPUs in any NUMA node"), std::string::npos) << why;
  const auto rank = start_rank("preferred", cores, {{"strength", "preferred"}, {"memory", "bind"}});
  ASSERT_TRUE(ok(rank));
  const CpuSet own = file(rank->running);
  EXPECT_EQ(own.count(), cores * machine().width);
  EXPECT_EQ(node_of(own), nullptr) << own.to_string();
  EXPECT_EQ(mems(*rank).to_string(), machine().topology.nodes_of(own).to_string());
  EXPECT_TRUE(memory_is_local(*rank));
  const auto status = agent().status();
  ASSERT_TRUE(ok(status));
  EXPECT_EQ(status->counters.at("preferred_not_met"), 1);
}

TEST_P(Guest_Numa, MemoryBoundRanksSpreadOverTheNodes) {
  ASSERT_TRUE(ok(start_agent()));
  NodeSet homes;
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < nodes_with_cpus().size(); ++i) {
    auto rank = start_rank("bound", 1, {{"profile", "memory"}, {"job", "job"}});
    ASSERT_TRUE(ok(rank));
    EXPECT_TRUE(memory_is_local(*rank));
    homes |= mems(*rank);
    ranks.push_back(std::move(*rank));
  }
  EXPECT_EQ(homes.count(), static_cast<int>(nodes_with_cpus().size())) << homes.to_string();
}

TEST_P(Guest_Numa, ARankGrowsInsideItsNodeByAnUpdate) {
  ASSERT_TRUE(ok(start_agent()));
  // In another node than the reserved core, which on a small machine has no room to grow.
  const auto first = start_rank("first", largest_node() - 1, {{"job", "job"}});
  ASSERT_TRUE(ok(first));
  const auto rank = start_rank("grows", 1, {{"job", "job"}});
  ASSERT_TRUE(ok(rank));
  const CpuSet before = file(rank->running);
  const NodeSet nodes = mems(*rank);
  EXPECT_TRUE(memory_is_local(*rank));
  const auto sized = [&](int cores) {
    const auto pod = lab::guaranteed_pod("rank", cores * machine().width, {});
    return lab::resources_of(pod, pod.containers[0]);
  };
  ASSERT_TRUE(ok(node().cri().update_resources(rank->running.id, sized(2))));
  const CpuSet grown = file(rank->running);
  EXPECT_EQ(grown.count(), 2 * machine().width);
  EXPECT_TRUE(before.is_subset_of(grown));
  EXPECT_NE(node_of(grown), nullptr) << grown.to_string();
  EXPECT_EQ(mems(*rank), nodes);
  EXPECT_TRUE(tasks_allowed(rank->running, grown));
  EXPECT_TRUE(pages_are_on(*rank, nodes));
  ASSERT_TRUE(ok(node().cri().update_resources(rank->running.id, sized(1))));
  EXPECT_TRUE(file(rank->running).is_subset_of(grown));
  EXPECT_TRUE(pages_are_on(*rank, nodes));
  EXPECT_TRUE(no_drift());
}

TEST_P(Guest_Numa, RestartsKeepCoresAndMemory) {
  ASSERT_TRUE(ok(start_agent()));
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < nodes_with_cpus().size(); ++i) {
    auto rank = start_rank("rank", 1, {{"profile", "memory"}, {"job", "job"}});
    ASSERT_TRUE(ok(rank));
    ASSERT_TRUE(memory_is_local(*rank));
    ranks.push_back(std::move(*rank));
  }
  std::vector<CpuSet> cpus;
  std::vector<NodeSet> nodes;
  for (const auto& rank : ranks) {
    cpus.push_back(file(rank.running));
    nodes.push_back(mems(rank));
  }
  const auto expect_kept = [&](const char* after) {
    SCOPED_TRACE(after);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      EXPECT_EQ(file(ranks[i].running), cpus[i]);
      EXPECT_EQ(mems(ranks[i]), nodes[i]);
      EXPECT_TRUE(tasks_allowed(ranks[i].running, cpus[i]));
      EXPECT_TRUE(memory_is_local(ranks[i]));
    }
    EXPECT_TRUE(no_drift());
  };
  ASSERT_TRUE(ok(agent().stop()));
  ASSERT_TRUE(ok(start_agent()));
  expect_kept("restart of the agent");
  agent().kill();
  ASSERT_TRUE(ok(start_agent()));
  expect_kept("kill of the agent");
  const auto synchronized = [&] {
    const auto status = agent().status();
    return status && status->phase == "synchronized";
  };
  ASSERT_TRUE(ok(node().stop_containerd()));
  ASSERT_TRUE(lab::eventually(kSoon, [&] { return !synchronized(); }));
  ASSERT_TRUE(ok(node().start_containerd()));
  ASSERT_TRUE(lab::eventually(kSoon, synchronized));
  expect_kept("restart of containerd");
}

// The node is given back under the feet of what runs there, and an agent that comes later takes it
// in hand again.
TEST_P(Guest_Numa, ReleaseGivesTheNodeBackWhileContainersRun) {
  ASSERT_TRUE(ok(start_agent()));
  const auto shared = start_shared("shared");
  ASSERT_TRUE(ok(shared));
  const auto rank = start_rank("rank", 1, {{"job", "job"}});
  ASSERT_TRUE(ok(rank));
  const CpuSet own = file(rank->running);
  ASSERT_TRUE(ok(agent().stop()));
  ASSERT_TRUE(is_kept_off(*shared, own)) << "the agent's end changed something";

  const std::string state = std::filesystem::path(agent().api_socket()).parent_path();
  const auto released = integration::pinionctl(node(), {"release", "--state-dir", state});
  ASSERT_TRUE(ok(released));
  for (const auto* container : {&*shared, &rank->running}) {
    EXPECT_EQ(file(*container), machine().topology.online) << *released;
    EXPECT_TRUE(tasks_allowed(*container, machine().topology.online));
  }

  ASSERT_TRUE(ok(start_agent()));
  EXPECT_TRUE(becomes_pinned(rank->running, {*shared}, kSoon));
  EXPECT_TRUE(tasks_allowed(rank->running, file(rank->running)));
  EXPECT_TRUE(is_kept_off(*shared, file(rank->running)));
  EXPECT_TRUE(no_drift());
}

TEST_P(Guest_Numa, AFreeCoreThatGoesIsNotUsedUntilItIsBack) {
  ASSERT_TRUE(ok(start_agent()));
  const auto shared = start_shared("shared");
  ASSERT_TRUE(ok(shared));
  const CpuSet pool = file(*shared);
  const CpuSet core = machine().topology.cores.back().cpus;
  ASSERT_TRUE(ok(set_online(core, false)));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return file(*shared) == pool - core; }))
      << file(*shared).to_string();
  ASSERT_TRUE(ok(set_online(core, true)));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return file(*shared) == pool; }))
      << file(*shared).to_string();
  EXPECT_TRUE(no_drift());
}

// A rank that loses a CPU moves to others, or waits in the shared set until the CPU is back; it
// ends with as many as it had, alone on them.
TEST_P(Guest_Numa, ARankWhoseCpuGoesHasItsCoresToItselfAgain) {
  ASSERT_TRUE(ok(start_agent()));
  const auto shared = start_shared("shared");
  ASSERT_TRUE(ok(shared));
  const auto rank = start_rank("rank", 2, {{"job", "job"}});
  ASSERT_TRUE(ok(rank));
  const CpuSet own = file(rank->running);
  const CpuSet lost{own.first()};  // the kernel keeps the last one of a partition online
  ASSERT_TRUE(ok(set_online(lost, false)));
  const auto settled = [&] {
    const CpuSet now = file(rank->running);
    const bool waits = now == file(*shared);
    const bool moved = now.count() == own.count() && !now.intersects(file(*shared));
    return !now.intersects(lost) && (moved || waits);
  };
  EXPECT_TRUE(lab::eventually(kSoon, settled))
      << file(rank->running).to_string() << ", shared " << file(*shared).to_string();
  ASSERT_TRUE(ok(set_online(lost, true)));
  EXPECT_TRUE(lab::eventually(kSoon,
                              [&] {
                                const CpuSet now = file(rank->running);
                                return now.count() == own.count() &&
                                       !now.intersects(file(*shared)) &&
                                       static_cast<bool>(tasks_allowed(rank->running, now));
                              }))
      << file(rank->running).to_string() << ", shared " << file(*shared).to_string();
  EXPECT_TRUE(no_drift());
}

TEST_P(Guest_Numa, NoKernelThreadStaysOnAPartitionWhenACpuComesBack) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = start_rank("rank", 2, {{"job", "job"}});
  ASSERT_TRUE(ok(rank));
  const CpuSet own = file(rank->running);
  if (!kernel_threads_on(own).empty()) GTEST_SKIP() << "no partition keeps them off";
  CpuSet other = machine().topology.online - own;
  other.remove(0);
  const CpuSet away{other.first()};
  const auto changes = [&] {
    const auto status = agent().status();
    return status ? status->counters.at("machine_changes") : 0;
  };
  for (const bool seen_away : {false, true}) {
    SCOPED_TRACE(seen_away ? "the agent sees it away" : "it is away for a moment");
    const auto before = changes();
    ASSERT_TRUE(ok(set_online(away, false)));
    if (seen_away) {
      ASSERT_TRUE(lab::eventually(kSoon, [&] { return changes() > before; })) << logs();
    }
    ASSERT_TRUE(ok(set_online(away, true)));
    EXPECT_TRUE(lab::eventually(kSoon, [&] { return kernel_threads_on(own).empty(); }))
        << testing::PrintToString(kernel_threads_on(own)) << "\n"
        << logs();
  }
}

TEST_P(Guest_Numa, MemoryWithoutCpusIsNoHome) {
  NodeSet far = machine().topology.memory_nodes();
  for (const auto* node : nodes_with_cpus()) far.remove(node->id);
  if (far.empty()) GTEST_SKIP() << "every node has CPUs";
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = start_rank("near", 1, {{"job", "job"}});
  ASSERT_TRUE(ok(rank));
  EXPECT_FALSE(mems(*rank).intersects(far)) << mems(*rank).to_string();
  EXPECT_TRUE(memory_is_local(*rank));
}

INSTANTIATE_TEST_SUITE_P(Each, Guest_Numa, testing::ValuesIn(containerds()),
                         [](const auto& param) { return param.param == "1.7" ? "v17" : "v21"; });

}  // namespace
}  // namespace pinion::guest
