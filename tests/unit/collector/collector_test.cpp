#include "metrics/collect/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/tree.h"
#include "tests/unit/perf/fake_kernel.h"

namespace pinion::metrics {
namespace {

using perf::test::FakeKernel;
using testing::HasSubstr;

// A unified hierarchy and a /proc of files, and a perf that is a fake.
class CollectorPass : public testing::Test {
 protected:
  // `linger_ns` and the rest as a collector has them; perf is off with `perf` false.
  Collector make(bool perf = true, std::int64_t linger_ns = 1'000'000'000'000) {
    CollectorOptions options;
    options.root = dir_.path().string();
    const cgroup::Mount mount{.directory = (dir_.path() / "cg").string(), .version = 2};
    options.readers.mounts = {.cpu = mount,
                              .cpuacct = mount,
                              .memory = mount,
                              .pids = mount,
                              .perf = mount,
                              .unified = mount};
    if (perf) {
      options.readers.perf = &kernel_;
      options.readers.events = perf::layout({{Event::kMigrations, {.type = 1, .config = 4}},
                                             {Event::kTaskClock, {.type = 1, .config = 1}}},
                                            0);
    }
    options.linger_ns = linger_ns;
    return Collector(std::move(options));
  }

  // A container with a cgroup of its own that has used `cpu_us` so far.
  Target container(const std::string& id, const std::string& pod, int cpu_us = 1000) {
    write("cg/" + id + "/cpu.stat = usage_usec " + std::to_string(cpu_us) + "\ncg/" + id +
          "/cpu.stat = user_usec 600\ncg/" + id + "/cpu.stat = system_usec 400\ncg/" + id +
          "/cgroup.threads =\n");
    Identity who;
    who.id = id;
    who.name_space = "lab";
    who.pod = pod;
    who.container = "main";
    who.exclusive = true;
    topology::CpuSet cpus;
    cpus.add(1);
    return {.who = std::make_shared<const Identity>(who),
            .cgroup = "/" + id,
            .cpus = cpus,
            .exclusive = true,
            .fresh = true};
  }

  void write(const std::string& text) {
    const Status written = test_support::write_tree(text, dir_.path());
    ASSERT_TRUE(written) << written.error().text;
  }

  test_support::TempDir dir_;
  FakeKernel kernel_;
};

TEST_F(CollectorPass, ReadsEverySource) {
  write("proc/stat = cpu1 100 0 0 900 0 0 0 0 0 0\n");
  Collector collector = make();
  const Target rank = container("a", "rank-0");
  (void)collector.pass({rank});
  kernel_.count(1, Event::kMigrations, 3);
  const Sample sample = collector.pass({rank});
  ASSERT_EQ(sample.containers.size(), 1U);
  const ContainerFigures& figures = sample.containers[0];
  EXPECT_EQ(sample.number, 2U);
  EXPECT_EQ(figures.cpu_ns, 1'000'000U);
  EXPECT_EQ(figures.cpu_user_ns, 600'000U);
  ASSERT_TRUE(figures.event(Event::kMigrations));
  EXPECT_EQ(figures.event(Event::kMigrations)->value, 3U);
  EXPECT_TRUE(figures.rates.migrations_per_second.has_value());
  EXPECT_TRUE(figures.intrusion_ns.has_value());
  EXPECT_FALSE(figures.event(Event::kCycles)) << "not counted is absent";
  EXPECT_EQ(sample.collector.descriptors, 2U);
  EXPECT_EQ(sample.collector.errors, 0U) << sample.collector.last_error;
}

TEST_F(CollectorPass, AFinishedContainerStaysForAWhile) {
  Collector collector = make();
  (void)collector.pass({container("a", "rank-0")});
  kernel_.count(1, Event::kMigrations, 7);
  const Sample after = collector.pass({});
  ASSERT_EQ(after.containers.size(), 1U);
  EXPECT_TRUE(after.containers[0].finished);
  EXPECT_EQ(after.containers[0].event(Event::kMigrations)->value, 7U) << "its last counts";
  EXPECT_EQ(after.containers[0].rates, Rates{});
  EXPECT_EQ(kernel_.open_events(), 0U);
}

TEST_F(CollectorPass, AndIsForgottenThen) {
  Collector collector = make(true, 0);
  (void)collector.pass({container("a", "rank-0")});
  (void)collector.pass({});
  EXPECT_TRUE(collector.pass({}).containers.empty());
}

TEST_F(CollectorPass, OneOfTheSameNameTakesItsPlace) {
  Collector collector = make();
  (void)collector.pass({container("b", "rank-0", 5000)});
  const Sample sample = collector.pass({container("a", "rank-0", 1000)});
  ASSERT_EQ(sample.containers.size(), 1U) << "a series has one value";
  EXPECT_EQ(sample.containers[0].who->id, "a");
  EXPECT_FALSE(sample.containers[0].finished);
}

TEST_F(CollectorPass, MemoryDoesNotGrowWithAge) {
  CollectorOptions options;
  options.max_finished = 3;
  Collector collector(std::move(options));
  for (std::size_t i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    const Sample sample = collector.pass({container("c" + number, "pod-" + number)});
    EXPECT_EQ(sample.containers.size(), 1 + std::min(i, std::size_t{3}));
  }
}

TEST_F(CollectorPass, AContainerThatVanishesIsCountedAndKeepsItsFigures) {
  Collector collector = make();
  const Target rank = container("a", "rank-0");
  (void)collector.pass({rank});
  std::filesystem::remove_all(dir_.path() / "cg" / "a");
  for (int i = 0; i < 10; ++i) (void)collector.pass({rank});
  const Sample sample = collector.pass({rank});
  EXPECT_GT(sample.collector.vanished, 0U);
  EXPECT_EQ(sample.containers[0].cpu_ns, 1'000'000U);
}

TEST_F(CollectorPass, ACgroupThatNeverWasIsNoCrash) {
  Collector collector = make();
  Target ghost = container("a", "rank-0");
  ghost.cgroup = "/elsewhere";
  const Sample sample = collector.pass({ghost});
  EXPECT_GT(sample.collector.vanished, 0U);
  EXPECT_FALSE(sample.containers[0].cpu_ns);
}

TEST_F(CollectorPass, PerfDeniedLeavesTheRest) {
  kernel_.refuse = [](const perf_event_attr&, int) { return EACCES; };
  Collector collector = make();
  const Sample sample = collector.pass({container("a", "rank-0")});
  EXPECT_FALSE(sample.containers[0].event(Event::kMigrations));
  EXPECT_EQ(sample.containers[0].cpu_ns, 1'000'000U);
  EXPECT_GT(sample.collector.errors, 0U);
  EXPECT_THAT(sample.collector.last_error, HasSubstr("CAP_PERFMON"));
}

TEST_F(CollectorPass, GivingUpItsCoresTakesNothingBack) {
  Collector collector = make();
  Target one = container("a", "rank-0");
  (void)collector.pass({one});
  kernel_.count(1, Event::kMigrations, 5);
  (void)collector.pass({one});
  Identity shared = *one.who;
  shared.exclusive = false;
  one.who = std::make_shared<const Identity>(shared);
  one.exclusive = false;
  for (int i = 0; i < 12; ++i) {
    const Sample sample = collector.pass({one});
    ASSERT_TRUE(sample.containers[0].event(Event::kMigrations));
    EXPECT_GE(sample.containers[0].event(Event::kMigrations)->value, 5U);
  }
  EXPECT_EQ(kernel_.open_events(), 0U) << "shared containers are counted without perf";
}

TEST(Spliced, GoesOnWhereTheOtherSourceEnded) {
  Spliced total;
  EXPECT_EQ(total.update(0, 10), 10U);
  EXPECT_EQ(total.update(0, 15), 15U);
  EXPECT_EQ(total.update(1, 1000), 15U) << "the second source's past is not this one's";
  EXPECT_EQ(total.update(1, 1004), 19U);
  EXPECT_EQ(total.update(0, 20), 19U);
  EXPECT_EQ(total.update(0, 21), 20U);
  EXPECT_EQ(total.update(0, 3), 20U) << "never back";
}

}  // namespace
}  // namespace pinion::metrics
