#include "ctl/compare/interval_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinion::ctl {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

v1::Container& add(v1::Snapshot& snapshot, const std::string& id, const std::string& job,
                   const std::string& cpus) {
  v1::Container& container = *snapshot.add_containers();
  container.set_id(id);
  container.set_namespace_("ns");
  container.set_pod(id);
  container.set_name("rank");
  container.set_job(job);
  container.set_cpus(cpus);
  return container;
}

void count(v1::Container& container, std::uint64_t cycles, std::uint64_t instructions,
           std::uint64_t misses) {
  v1::Figures& figures = *container.mutable_figures();
  figures.set_cycles(cycles);
  figures.set_instructions(instructions);
  figures.set_l3_misses(misses);
}

std::vector<double> of(const IntervalFigures& figures, Quantity quantity) {
  return figures.series()[static_cast<std::size_t>(quantity)];
}

TEST(IntervalFigures, SumsRatesOverTheJob) {
  v1::Snapshot snapshot;
  for (const char* id : {"a", "b"}) {
    v1::Rates& rates = *add(snapshot, id, "wind", "1").mutable_rates();
    rates.set_cpus(0.5);
    rates.set_migrations_per_second(3);
    rates.set_wait_share(0.25);
  }
  add(snapshot, "c", "rain", "2").mutable_rates()->set_cpus(100);
  v1::Container& gone = add(snapshot, "d", "wind", "3");
  gone.set_finished(true);
  gone.mutable_rates()->set_cpus(100);
  IntervalFigures figures({.job = "wind", .match = ""});
  figures.add(snapshot);
  EXPECT_THAT(of(figures, Quantity::kCpu), ElementsAre(1));
  EXPECT_THAT(of(figures, Quantity::kMigrations), ElementsAre(6));
  EXPECT_THAT(of(figures, Quantity::kWait), ElementsAre(0.5));
  EXPECT_THAT(of(figures, Quantity::kInvoluntary), IsEmpty());
  EXPECT_EQ(figures.containers_seen(), 2U);
}

TEST(IntervalFigures, WeighsIntrusionByCpus) {
  v1::Snapshot snapshot;
  add(snapshot, "a", "", "0-2").mutable_rates()->set_intrusion_share(0.02);
  add(snapshot, "b", "", "3").mutable_rates()->set_intrusion_share(0.10);
  IntervalFigures figures({});
  figures.add(snapshot);
  EXPECT_THAT(of(figures, Quantity::kIntrusion), ElementsAre(DoubleEq((3 * 2.0 + 10.0) / 4)));
}

TEST(IntervalFigures, TakesRatiosFromTheSumsOfCounters) {
  IntervalFigures figures({});
  v1::Snapshot first;
  count(add(first, "a", "", "0"), 100, 100, 10);
  count(add(first, "b", "", "1"), 0, 0, 0);
  figures.add(first);
  EXPECT_THAT(of(figures, Quantity::kIpc), IsEmpty());
  v1::Snapshot second;
  count(add(second, "a", "", "0"), 1100, 3100, 16);  // 1000 cycles, 3000 instructions, 6 misses
  count(add(second, "b", "", "1"), 1000, 1000, 2);
  figures.add(second);
  EXPECT_THAT(of(figures, Quantity::kIpc), ElementsAre(2));
  EXPECT_THAT(of(figures, Quantity::kMpki), ElementsAre(2));
}

TEST(IntervalFigures, PrefersMemoryAccessesToPages) {
  const auto moment = [](std::uint64_t local, std::uint64_t remote) {
    v1::Snapshot snapshot;
    v1::Container& container = add(snapshot, "a", "", "0");
    container.mutable_rates()->set_remote_share(0.5);
    container.mutable_figures()->set_local_dram(local);
    container.mutable_figures()->set_remote_dram(remote);
    return snapshot;
  };
  IntervalFigures figures({});
  figures.add(moment(0, 0));
  figures.add(moment(300, 100));
  EXPECT_THAT(of(figures, Quantity::kRemote), ElementsAre(50, 25));
}

TEST(IntervalFigures, CountsAPassOnce) {
  v1::Snapshot snapshot;
  v1::Container& container = add(snapshot, "a", "", "0");
  container.mutable_rates()->set_cpus(0.5);
  container.mutable_figures()->set_cpu_user_ns(1000);
  IntervalFigures figures({});
  figures.add(snapshot);
  figures.add(snapshot);
  EXPECT_THAT(of(figures, Quantity::kCpu), ElementsAre(0.5));
  container.mutable_figures()->set_cpu_user_ns(2000);
  figures.add(snapshot);
  EXPECT_THAT(of(figures, Quantity::kCpu), ElementsAre(0.5, 0.5));
}

TEST(IntervalFigures, CountsTenPassesWithoutChange) {
  v1::Snapshot snapshot;
  add(snapshot, "a", "", "0").mutable_rates()->set_cpus(0);
  IntervalFigures figures({});
  for (std::uint64_t pass = 1; pass <= 31; ++pass) {
    snapshot.set_pass(pass);
    figures.add(snapshot);
    figures.add(snapshot);
  }
  EXPECT_THAT(of(figures, Quantity::kCpu), ElementsAre(0, 0, 0, 0));
  snapshot.mutable_node()->set_instance("later");
  snapshot.set_pass(1);
  figures.add(snapshot);
  EXPECT_THAT(of(figures, Quantity::kCpu), ElementsAre(0, 0, 0, 0, 0));
}

TEST(IntervalFigures, TakesNoRatioAcrossTwoLivesOfTheAgent) {
  IntervalFigures figures({});
  v1::Snapshot snapshot;
  snapshot.mutable_node()->set_instance("one");
  count(add(snapshot, "a", "", "0"), 100, 100, 0);
  figures.add(snapshot);
  snapshot.mutable_node()->set_instance("two");
  count(*snapshot.mutable_containers(0), 300, 500, 0);
  figures.add(snapshot);
  EXPECT_THAT(of(figures, Quantity::kIpc), IsEmpty());
  count(*snapshot.mutable_containers(0), 200, 400, 0);  // goes back: not counted
  figures.add(snapshot);
  EXPECT_THAT(of(figures, Quantity::kIpc), IsEmpty());
}

TEST(Selection, MatchesAPartOfTheName) {
  v1::Snapshot snapshot;
  const v1::Container& container = add(snapshot, "wind-0", "wind", "0");
  EXPECT_TRUE((Selection{.job = "", .match = "wind-0/ra"}.holds(container)));
  EXPECT_TRUE((Selection{.job = "wind", .match = "ns/"}.holds(container)));
  EXPECT_FALSE((Selection{.job = "wind", .match = "rain"}.holds(container)));
  EXPECT_FALSE((Selection{.job = "win", .match = ""}.holds(container)));
}

}  // namespace
}  // namespace pinion::ctl
