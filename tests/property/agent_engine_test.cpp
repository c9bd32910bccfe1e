// Thousands of random events on several machines, under each fence: nothing breaks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "tests/property/agent_sim.h"
#include "tests/support/machine.h"

namespace pinion::engine {
namespace {

using test_support::cpus;
using test_support::Sim;
using test_support::SimOptions;

struct Scene {
  const char* name;
  topology::Topology machine;
  Settings settings;
};

std::vector<Scene> scenes() {
  Settings two_reserved;
  two_reserved.reserved = cpus("0-1");
  Settings strict = two_reserved;
  strict.strict_reservation = true;
  Settings isolated_reserved;
  isolated_reserved.reserved = cpus("6");
  const auto with_isolated =
      test_support::machine({.nodes_per_package = 2, .cores_per_l3 = 4, .isolated = cpus("5-6")});
  const auto with_offline = test_support::machine({.packages = 2,
                                                   .l3s_per_node = 2,
                                                   .cores_per_l3 = 3,
                                                   .threads_per_core = 2,
                                                   .offline = cpus("2,7-9")});
  std::vector<Scene> scenes = {{"single", test_support::single_cpu(), {}},
                               {"two_core_vm", test_support::two_core_vm(), {}},
                               {"laptop", test_support::laptop(), {}},
                               {"laptop_reserved", test_support::laptop(), two_reserved},
                               {"laptop_strict", test_support::laptop(), strict},
                               {"isolated", with_isolated, {}},
                               {"isolated_and_reserved", with_isolated, isolated_reserved},
                               {"offline", with_offline, {}},
                               {"mixed_nodes", test_support::mixed_nodes(), {}},
                               {"xeon_snc2", test_support::xeon_snc2(), strict},
                               {"epyc_rome_256", test_support::epyc_rome_256(), {}}};
  for (Scene& scene : scenes) {
    scene.settings.defaults.privileges = {Privilege::kOnePerCore, Privilege::kIsolated,
                                          Privilege::kNearDevice};
  }
  return scenes;
}

constexpr FenceKind kFences[] = {FenceKind::kPartition, FenceKind::kTree, FenceKind::kLeaf,
                                 FenceKind::kRuntime};

// How many lives of a kind are played where lenders are, or wrong pods told.
unsigned seeds() {
  const char* many = std::getenv("PINION_SEEDS");  // NOLINT(concurrency-mt-unsafe)
  return many != nullptr ? static_cast<unsigned>(std::atoi(many)) : 1;
}

std::string trace(const SimOptions& options) {
  return "fence " + std::to_string(static_cast<int>(options.fence)) + ", seed " +
         std::to_string(options.seed) + (options.lend ? ", lending" : "");
}

class RandomLife : public testing::TestWithParam<Scene> {
 protected:
  static void play(FenceKind fence, bool tamper, unsigned seed, int events, int no_partition = 0,
                   int no_group = 0) {
    SimOptions options;
    options.fence = fence;
    options.settings = GetParam().settings;
    options.tamper = tamper;
    options.no_partition = no_partition;
    options.no_group = no_group;
    options.seed = seed;
    options.events = events;
    Sim sim(GetParam().machine, options);
    sim.run();
    SCOPED_TRACE("seed " + std::to_string(seed) + (tamper ? ", tampered" : ""));
    EXPECT_EQ(sim.fault(), "");
    for (const char* verb :
         {"create", "start", "stop", "update", "postupdate", "synchronize", "restart clean"}) {
      if (verb == std::string("restart clean") && events < 2'000) continue;
      EXPECT_GT(sim.done().count(verb), 0U) << verb << " never happened";
    }
    if (events >= 2'000) {
      EXPECT_GT(sim.done().count("update not done"), 0U);
      EXPECT_GT(sim.done().count("overdue"), 0U);
    }
    if (GetParam().machine.online.count() > 2 &&
        events >= 2'000) {  // else hardly anybody has cores
      EXPECT_GT(sim.done().count("came back"), 0U);
    }
    if (GetParam().machine.online.count() > 8 && events >= 2'000) {
      EXPECT_GT(sim.done().count("kept over a restart"), 0U);
    }
  }

  // One for each of the seeds(). `check`: of what was done in it.
  template <class Check>
  static void play_lives(SimOptions options, const Check& check) {
    options.settings = GetParam().settings;
    for (options.seed = 1; options.seed <= seeds(); ++options.seed) {
      Sim sim(GetParam().machine, options);
      sim.run();
      SCOPED_TRACE(trace(options));
      EXPECT_EQ(sim.fault(), "");
      check(sim.done());
    }
  }
};

TEST_P(RandomLife, UnderTheLeafFence) {
  play(FenceKind::kLeaf, false, 1, 2'000);
  play(FenceKind::kLeaf, true, 2, 800);
  play(FenceKind::kLeaf, false, 3, 800);
}

TEST_P(RandomLife, UnderTheTreeFence) {
  play(FenceKind::kTree, false, 1, 2'000);
  play(FenceKind::kTree, true, 2, 800);
}

TEST_P(RandomLife, WhereSomeQosGroupsCannotBeWritten) {
  play(FenceKind::kTree, false, 1, 1'200, 0, 20);
  play(FenceKind::kTree, true, 2, 800, 0, 10);
  play(FenceKind::kTree, false, 3, 800, 0, 1);
}

TEST_P(RandomLife, WhereSlicesOfQosGroupsHaveAllowedCpusThatChange) {
  for (const bool tamper : {false, true}) {
    SimOptions options;
    options.fence = FenceKind::kTree;
    options.settings = GetParam().settings;
    options.tamper = tamper;
    options.limit = 10;
    options.no_group = tamper ? 20 : 0;
    options.events = 1'000;
    Sim sim(GetParam().machine, options);
    sim.run();
    EXPECT_EQ(sim.fault(), "");
    EXPECT_GT(sim.done().at("limits"), 5);
  }
}

TEST_P(RandomLife, UnderThePartitionFence) {
  play(FenceKind::kPartition, false, 1, 2'000);
  play(FenceKind::kPartition, true, 2, 800);
}

TEST_P(RandomLife, WhereSomePartitionsCannotBeMade) {
  play(FenceKind::kPartition, false, 1, 1'200, 2);
  play(FenceKind::kPartition, true, 2, 800, 3);
  play(FenceKind::kPartition, false, 3, 800, 1);
}

TEST_P(RandomLife, UnderTheRuntimeFence) {
  play(FenceKind::kRuntime, false, 1, 2'000);
  play(FenceKind::kRuntime, true, 2, 800);
  play(FenceKind::kRuntime, false, 3, 800);
}

// Lent cores are always in exactly one container's set, and come back whatever ends.
TEST_P(RandomLife, WithLendersAndBorrowers) {
  for (const FenceKind fence : kFences) {
    SimOptions options;
    options.fence = fence;
    options.lend = true;
    options.no_partition = 10;
    options.events = 1'200;
    play_lives(options, [&](const auto& done) {
      if (fence == FenceKind::kRuntime) {
        EXPECT_EQ(done.count("loans"), 0U);
      } else if (GetParam().machine.online.count() > 64) {  // else hardly anybody has cores
        EXPECT_GT(done.at("loans"), 3);
        EXPECT_GT(done.count("loans over a restart"), 0U);
      }
    });
  }
}

// Containers of a pod that state all of its CPUs are on its cores, and nobody else is.
TEST_P(RandomLife, WithContainersThatShareTheirPodsCores) {
  for (const FenceKind fence : kFences) {
    for (const bool lend : {false, true}) {
      SimOptions options;
      options.fence = fence;
      options.share = true;
      options.lend = lend;
      options.tamper = lend;
      options.no_partition = 10;
      options.events = 1'200;
      play_lives(options, [&](const auto& done) {
        const int cpus = GetParam().machine.online.count();
        EXPECT_TRUE(cpus <= 8 || done.count("guests") > 0);
        EXPECT_TRUE(cpus <= 64 || lend || done.count("guests over a restart") > 0);
      });
    }
  }
}

// It believes what it is told, and comes to no harm: after the runtime's next list all is in order.
TEST_P(RandomLife, WhereTheRuntimeTellsWrongPods) {
  for (const bool lend : {false, true}) {
    for (const FenceKind fence : kFences) {
      SimOptions options;
      options.fence = fence;
      options.mistell = true;
      options.lend = lend;
      options.events = 1'000;
      play_lives(options, [](const auto& done) { EXPECT_GT(done.at("mistold"), 20); });
    }
  }
}

TEST_P(RandomLife, EqualRunsGiveEqualReplies) {
  for (const FenceKind fence : kFences) {
    SimOptions options;
    options.fence = fence;
    options.settings = GetParam().settings;
    options.seed = 77;
    options.events = 600;
    Sim one(GetParam().machine, options);
    Sim two(GetParam().machine, options);
    one.run();
    two.run();
    EXPECT_GT(one.transcript().size(), 10'000U);
    EXPECT_TRUE(one.transcript() == two.transcript());
  }
}

TEST(RandomHotplug, UnderEveryFence) {
  const auto two_nodes = [](const CpuSet& offline) {
    return test_support::machine({.packages = 2, .cores_per_l3 = 4, .offline = offline});
  };
  const auto siblings = [](const CpuSet& offline) {
    return test_support::machine(
        {.l3s_per_node = 2, .cores_per_l3 = 3, .threads_per_core = 2, .offline = offline});
  };
  for (const auto& [fence, name] :
       {std::pair(FenceKind::kPartition, "partition"), std::pair(FenceKind::kTree, "tree"),
        std::pair(FenceKind::kLeaf, "leaf"), std::pair(FenceKind::kRuntime, "runtime")}) {
    SCOPED_TRACE(name);
    unsigned seed = 1;
    for (const auto& machine : {std::function<topology::Topology(const CpuSet&)>(two_nodes),
                                std::function<topology::Topology(const CpuSet&)>(siblings)}) {
      SimOptions options;
      options.fence = fence;
      options.with_offline = machine;
      options.seed = seed++;
      options.events = 4'000;
      Sim sim(machine({}), options);
      sim.run();
      EXPECT_EQ(sim.fault(), "");
      EXPECT_GT(sim.done().at("hotplug"), 15);
    }
  }
}

std::string name_of(const testing::TestParamInfo<Scene>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Machines, RandomLife, testing::ValuesIn(scenes()), name_of);

}  // namespace
}  // namespace pinion::engine
