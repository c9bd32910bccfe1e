#include "metrics/perf/container_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/perf/fake_kernel.h"

namespace pinion::metrics::perf {
namespace {

using test::counted;
using test::FakeKernel;
using testing::HasSubstr;
using topology::CpuSet;

constexpr Event kSwitches = Event::kContextSwitches;
constexpr Event kClock = Event::kTaskClock;
constexpr Event kCycles = Event::kCycles;

EventSet events() {
  return layout(counted({kSwitches, kClock, kCycles}), 6);
}

class Container : public testing::Test {
 protected:
  std::uint64_t value(Event event) const {
    const auto count = counters_.count(event);
    EXPECT_TRUE(count);
    return count ? count->value : 0;
  }

  FakeKernel kernel_;
  ContainerCounters counters_{kernel_, events(), Fd()};
};

TEST_F(Container, OpensOnlyOnTheCpusThatItMayUse) {
  ASSERT_TRUE(counters_.set_cpus({2, 5}));
  EXPECT_EQ(kernel_.opened_on, (std::vector<int>{2, 2, 2, 5, 5, 5}));
  EXPECT_EQ(counters_.descriptors(), 6U);
  EXPECT_EQ(counters_.reopened(), 0U);
}

TEST_F(Container, SumsOverCpusAndKeepsThemApart) {
  ASSERT_TRUE(counters_.set_cpus({2, 5}));
  kernel_.count(2, kSwitches, 10, 0, 0);
  kernel_.count(5, kSwitches, 3, 0, 0);
  kernel_.count(2, kClock, 1000);
  kernel_.count(5, kClock, 50);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(counters_.count(kSwitches), (Count{13, 1}));
  EXPECT_EQ(counters_.count(kClock), (Count{1050, 1}));
  EXPECT_EQ(counters_.task_clock_ns(2), 1000U);
  EXPECT_EQ(counters_.task_clock_ns(5), 50U);
  EXPECT_EQ(counters_.task_clock_ns(3), std::nullopt);
}

TEST_F(Container, OneSystemCallForEachGroup) {
  ASSERT_TRUE(counters_.set_cpus({0, 1, 2}));
  const int before = kernel_.calls;
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(kernel_.calls - before, 3 * 2);
  ASSERT_TRUE(counters_.set_cpus({0, 1, 2}));
  EXPECT_EQ(kernel_.calls - before, 3 * 2);  // nothing changed, nothing called
}

TEST_F(Container, WhatIsNotMeasuredIsNotSet) {
  EXPECT_EQ(counters_.count(kSwitches), std::nullopt);  // not opened yet
  ASSERT_TRUE(counters_.set_cpus({0}));
  EXPECT_EQ(counters_.count(kSwitches), (Count{0, 1}));
  EXPECT_EQ(counters_.count(Event::kL3Misses), std::nullopt);  // not in the set
}

TEST_F(Container, ScalesWhatSharedThePmuAndSaysSo) {
  ASSERT_TRUE(counters_.set_cpus({0, 1}));
  kernel_.count(0, kCycles, 1000, 100, 50);
  kernel_.count(1, kCycles, 1000, 100, 100);
  kernel_.count(0, kSwitches, 8, 100, 100);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(counters_.count(kCycles), (Count{3000, 0.75}));
  EXPECT_EQ(counters_.count(kSwitches), (Count{8, 1}));
}

TEST_F(Container, NewCpusCarryTheTotalOn) {
  ASSERT_TRUE(counters_.set_cpus({0, 1}));
  kernel_.count(0, kSwitches, 10, 0, 0);
  kernel_.count(1, kSwitches, 20, 0, 0);
  // 0 is read a last time though nobody called read(); 1 is not touched.
  ASSERT_TRUE(counters_.set_cpus({1, 2}));
  EXPECT_EQ(value(kSwitches), 10U);
  EXPECT_EQ(kernel_.open_events(), 6U);
  EXPECT_EQ(counters_.reopened(), 2U);  // two groups, on CPU 2
  kernel_.count(2, kSwitches, 5, 0, 0);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(value(kSwitches), 35U);
}

TEST_F(Container, TheNewCpusAreOpenedBeforeTheOldAreClosed) {
  ASSERT_TRUE(counters_.set_cpus({0}));
  kernel_.most_descriptors = 3;  // there is no room for both
  EXPECT_FALSE(counters_.set_cpus({1}));
  EXPECT_EQ(counters_.uncounted(), CpuSet{1});
  ASSERT_TRUE(counters_.set_cpus({1}));  // now there is
  EXPECT_EQ(counters_.uncounted(), CpuSet{});
}

TEST_F(Container, ACpuThatComesBackGoesOnWhereItWas) {
  ASSERT_TRUE(counters_.set_cpus({0}));
  kernel_.count(0, kClock, 700);
  ASSERT_TRUE(counters_.set_cpus({1}));
  EXPECT_EQ(counters_.task_clock_ns(0), std::nullopt);
  ASSERT_TRUE(counters_.set_cpus({0}));
  kernel_.count(0, kClock, 11);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(counters_.task_clock_ns(0), 711U);
  EXPECT_EQ(value(kClock), 711U);
}

TEST_F(Container, AnOfflineCpuIsReportedAndTriedAgain) {
  kernel_.offline = {1};
  ASSERT_TRUE(counters_.set_cpus({0, 1}));
  EXPECT_EQ(counters_.uncounted(), CpuSet{1});
  EXPECT_EQ(counters_.descriptors(), 3U);
  kernel_.offline = {};
  ASSERT_TRUE(counters_.set_cpus({0, 1}));
  EXPECT_EQ(counters_.uncounted(), CpuSet{});
  EXPECT_EQ(counters_.descriptors(), 6U);
}

TEST_F(Container, ACpuThatGoesOfflineKeepsItsCounts) {
  ASSERT_TRUE(counters_.set_cpus({0, 1}));
  kernel_.count(1, kSwitches, 4, 0, 0);
  ASSERT_TRUE(counters_.read());
  kernel_.take_offline(1);
  kernel_.count(0, kSwitches, 1, 0, 0);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(value(kSwitches), 5U);
  EXPECT_EQ(counters_.uncounted(), CpuSet{1});
  EXPECT_EQ(kernel_.open_events(), 3U);
  kernel_.offline = {};
  ASSERT_TRUE(counters_.set_cpus({0, 1}));
  kernel_.count(1, kSwitches, 2, 0, 0);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(value(kSwitches), 7U);
}

TEST_F(Container, OnOneCpuAllEventsOrNone) {
  kernel_.refuse = [](const perf_event_attr& attr, int cpu) {
    return cpu == 1 && attr.type == PERF_TYPE_HARDWARE ? EBUSY : 0;
  };
  const Status status = counters_.set_cpus({0, 1, 2});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().text, HasSubstr("count on CPU 1: open cycles: "));
  EXPECT_EQ(counters_.uncounted(), CpuSet{1});
  for (const auto& [fd, event] : kernel_.events()) EXPECT_NE(event.cpu, 1);
  EXPECT_EQ(counters_.descriptors(), 6U);
}

TEST_F(Container, WithoutDescriptorsItStopsTrying) {
  kernel_.most_descriptors = 4;
  const Status status = counters_.set_cpus({0, 1, 2, 3});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kExhausted);
  EXPECT_EQ(counters_.uncounted(), (CpuSet{1, 2, 3}));
  EXPECT_EQ(kernel_.opened_on, (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(kernel_.open_events(), 3U);
  const int before = kernel_.calls;
  ASSERT_TRUE(counters_.read());  // the one that is open counts
  EXPECT_EQ(kernel_.calls - before, 2);
}

TEST_F(Container, AVanishedCgroupIsAnOrdinaryError) {
  ASSERT_TRUE(counters_.set_cpus({0}));
  kernel_.count(0, kSwitches, 6, 0, 0);
  kernel_.refuse = [](const perf_event_attr&, int) { return ENOENT; };
  const Status status = counters_.set_cpus({0, 1});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kNotFound);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(value(kSwitches), 6U);  // the last values
}

TEST_F(Container, AFailedReadKeepsWhatWasCounted) {
  class Broken : public FakeKernel {
   public:
    bool broken = false;
    ssize_t read(int fd, void* buffer, std::size_t size) override {
      return broken ? -EIO : FakeKernel::read(fd, buffer, size);
    }
  } kernel;
  ContainerCounters counters(kernel, events(), Fd());
  ASSERT_TRUE(counters.set_cpus({3}));
  kernel.count(3, kSwitches, 9, 0, 0);
  ASSERT_TRUE(counters.read());
  kernel.broken = true;
  const Status status = counters.read();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().text, HasSubstr("CPU 3: read events: "));
  EXPECT_EQ(counters.count(kSwitches)->value, 9U);
  EXPECT_EQ(counters.uncounted(), CpuSet{3});
}

TEST_F(Container, AGroupThatCannotBeReadTakesNoOthersPlace) {
  class HalfBroken : public FakeKernel {
   public:
    int broken = -1;
    ssize_t read(int fd, void* buffer, std::size_t size) override {
      return fd == broken ? -EIO : FakeKernel::read(fd, buffer, size);
    }
  } kernel;
  ContainerCounters counters(kernel, events(), Fd());
  ASSERT_TRUE(counters.set_cpus({3}));
  kernel.broken = kernel.events().begin()->first;  // leads the first group
  kernel.count(3, kSwitches, 9, 0, 0);
  kernel.count(3, kCycles, 5);
  ASSERT_FALSE(counters.read());
  EXPECT_EQ(counters.count(kSwitches)->value, 0U);
  EXPECT_EQ(counters.count(kCycles)->value, 5U);
}

TEST_F(Container, NoCpuAtAll) {
  ASSERT_TRUE(counters_.set_cpus({0}));
  ASSERT_TRUE(counters_.set_cpus({}));
  EXPECT_EQ(kernel_.open_events(), 0U);
  ASSERT_TRUE(counters_.read());
  EXPECT_EQ(value(kSwitches), 0U);
}

TEST(ContainerEnd, ClosesEverythingOnce) {
  FakeKernel kernel;
  {
    ContainerCounters counters(kernel, events(), Fd());
    ASSERT_TRUE(counters.set_cpus({0, 1}));
    ASSERT_TRUE(counters.set_cpus({1, 2}));
  }
  EXPECT_EQ(kernel.open_events(), 0U);
  EXPECT_EQ(kernel.closed_twice, 0);
}

// Any history of moves, hotplug, refusals and readings: no count goes back, and all that happened
// on a CPU while it was counted is in the sum, once.
RC_GTEST_PROP(ContainerProperties, NothingTwiceNothingLostNeverBack, ()) {
  FakeKernel kernel;
  ContainerCounters counters(kernel, events(), Fd());
  std::uint64_t happened = 0;
  std::uint64_t before = 0;
  const int steps = *rc::gen::inRange(1, 50);
  for (int i = 0; i < steps; ++i) {
    const int cpu = *rc::gen::inRange(0, 5);
    switch (*rc::gen::inRange(0, 5)) {
      case 0: {
        CpuSet cpus;
        for (const int each : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5))) {
          cpus.add(each);
        }
        (void)counters.set_cpus(cpus);
        break;
      }
      case 1:
        // What it counted since the last reading is lost with it, so take that first.
        RC_ASSERT(counters.read());
        kernel.take_offline(cpu);
        RC_ASSERT(counters.read());
        break;
      case 2:
        kernel.offline.erase(cpu);
        break;
      case 3:
        RC_ASSERT(counters.read());
        break;
      default:
        if (counters.task_clock_ns(cpu)) {
          const auto more = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
          kernel.count(cpu, kSwitches, more, 1000, 1000);
          happened += more;
        }
    }
    const auto now = counters.count(kSwitches);
    RC_ASSERT(!now || now->value >= before);
    if (now) before = now->value;
    RC_ASSERT(kernel.open_events() == counters.descriptors());
  }
  RC_ASSERT(counters.read());
  RC_ASSERT(happened == 0 || counters.count(kSwitches)->value == happened);
  RC_ASSERT(kernel.closed_twice == 0);
}

}  // namespace
}  // namespace pinion::metrics::perf
