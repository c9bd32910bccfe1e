#include "metrics/collect/rates.h"

#include <gtest/gtest.h>

namespace pinion::metrics {
namespace {

std::shared_ptr<const Identity> on_node(const char* mems) {
  Identity identity;
  identity.mems = mems;
  return std::make_shared<const Identity>(identity);
}

ContainerFigures counted(std::uint64_t cycles, std::uint64_t instructions, std::uint64_t misses,
                         std::uint64_t migrations) {
  ContainerFigures figures;
  const auto set = [&](Event event, std::uint64_t value) {
    figures.events[static_cast<std::size_t>(event)] = Count{.value = value, .running = 1};
  };
  set(Event::kCycles, cycles);
  set(Event::kInstructions, instructions);
  set(Event::kL3Misses, misses);
  set(Event::kMigrations, migrations);
  return figures;
}

TEST(Rates, OfPerfEvents) {
  const ContainerFigures before = counted(1000, 500, 10, 3);
  ContainerFigures now = counted(5000, 4500, 30, 7);
  set_perf_rates(before, 2.0, 1, now);
  EXPECT_DOUBLE_EQ(now.rates.instructions_per_cycle.value(), 1.0);
  EXPECT_DOUBLE_EQ(now.rates.l3_misses_per_second.value(), 10.0);
  EXPECT_DOUBLE_EQ(now.rates.l3_misses_per_kilo_instruction.value(), 5.0);
  EXPECT_DOUBLE_EQ(now.rates.migrations_per_second.value(), 2.0);
  EXPECT_FALSE(now.rates.switches_per_second.has_value()) << "was not counted";
  EXPECT_FALSE(now.rates.remote_share.has_value()) << "was not counted";
}

TEST(Rates, NothingRanGivesNoRatio) {
  const ContainerFigures before = counted(1000, 500, 10, 3);
  ContainerFigures now = before;
  set_perf_rates(before, 1.0, 1, now);
  EXPECT_FALSE(now.rates.instructions_per_cycle.has_value());
  EXPECT_FALSE(now.rates.l3_misses_per_kilo_instruction.has_value());
  EXPECT_DOUBLE_EQ(now.rates.migrations_per_second.value(), 0.0);
}

TEST(Rates, ACounterThatWentBackGivesNone) {
  ContainerFigures now = counted(10, 5, 1, 0);
  set_perf_rates(counted(1000, 500, 10, 3), 1.0, 1, now);
  EXPECT_FALSE(now.rates.migrations_per_second.has_value());
}

TEST(Rates, IntrusionIsAShareOfItsCores) {
  ContainerFigures before;
  before.intrusion_ns = 0;
  ContainerFigures now;
  now.intrusion_ns = 100'000'000;
  set_perf_rates(before, 1.0, 4, now);
  EXPECT_DOUBLE_EQ(now.rates.intrusion_share.value(), 0.025);
  now.intrusion_ns = 4'400'000'000;  // of this second and a part of the one before
  set_perf_rates(before, 1.0, 4, now);
  EXPECT_DOUBLE_EQ(now.rates.intrusion_share.value(), 1.0);
}

TEST(Rates, OfTheCgroup) {
  ContainerFigures before;
  before.cpu_ns = 500'000'000;
  before.periods = 10;
  before.throttled_periods = 1;
  ContainerFigures now = before;
  now.who = on_node("0");
  now.cpu_ns = 2'000'000'000;
  now.periods = 20;
  now.throttled_periods = 6;
  now.memory = {{.node = 0, .bytes = 300}, {.node = 1, .bytes = 100}};
  set_cgroup_rates(before, 2.0, now);
  EXPECT_DOUBLE_EQ(now.rates.cpus.value(), 0.75);
  EXPECT_DOUBLE_EQ(now.rates.throttled_share.value(), 0.5);
  EXPECT_DOUBLE_EQ(now.rates.remote_share.value(), 0.25);
}

TEST(Rates, CountedAccessesWinOverResidentPages) {
  ContainerFigures before;
  before.events[static_cast<std::size_t>(Event::kLocalDram)] = Count{.value = 0, .running = 1};
  before.events[static_cast<std::size_t>(Event::kRemoteDram)] = Count{.value = 0, .running = 1};
  ContainerFigures now = before;
  now.who = on_node("0");
  now.events[static_cast<std::size_t>(Event::kLocalDram)]->value = 90;
  now.events[static_cast<std::size_t>(Event::kRemoteDram)]->value = 10;
  now.memory = {{.node = 1, .bytes = 100}};
  set_perf_rates(before, 1.0, 1, now);
  set_cgroup_rates(before, 1.0, now);
  EXPECT_DOUBLE_EQ(now.rates.remote_share.value(), 0.1);
}

TEST(Rates, OfTasks) {
  ContainerFigures before;
  before.involuntary_switches = 5;
  before.run_queue_wait_ns = 0;
  ContainerFigures now;
  now.involuntary_switches = 25;
  now.run_queue_wait_ns = 1'000'000'000;
  set_task_rates(before, 10.0, now);
  EXPECT_DOUBLE_EQ(now.rates.involuntary_per_second.value(), 2.0);
  EXPECT_DOUBLE_EQ(now.rates.wait_share.value(), 0.1);
}

}  // namespace
}  // namespace pinion::metrics
