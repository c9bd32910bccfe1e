#include "metrics/perf/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/fake_kernel.h"

namespace pinion::metrics::perf {
namespace {

using test::FakeKernel;
using testing::HasSubstr;

constexpr auto kCounted = Availability::kCounted;

PerfMachine zen4() {
  return {{Vendor::kAmd, 25, 17, "EPYC"}, true};
}

ProbeOrder order(const PerfMachine& machine = zen4()) {
  return {.machine = machine, .target = Target::cgroup_directory(5), .cpu = 0, .hardware = true};
}

Availability of(const Probed& probed, Event event) {
  return probed.events.at(static_cast<std::size_t>(event)).availability;
}

std::string detail(const Probed& probed, Event event) {
  return probed.events.at(static_cast<std::size_t>(event)).detail;
}

std::vector<std::size_t> sizes(const EventSet& set) {
  std::vector<std::size_t> out;
  for (const Group& group : set.groups) out.push_back(group.size());
  return out;
}

TEST(Probe, AMachineThatCountsEverything) {
  FakeKernel kernel;
  const Probed probed = probe(kernel, order());
  ASSERT_EQ(probed.events.size(), kEvents);
  for (std::size_t i = 0; i < kEvents; ++i) {
    EXPECT_EQ(probed.events[i].event, static_cast<Event>(i));
    EXPECT_EQ(probed.events[i].availability, kCounted) << probed.events[i].detail;
  }
  EXPECT_EQ(detail(probed, Event::kL3Misses),
            "Zen 4: PMCx044 mask 0xdc: data cache fills from beyond the CCX, prefetches included "
            "(raw 0xdc44)");
  EXPECT_EQ(probed.counters, 6);
  EXPECT_EQ(sizes(probed.set), (std::vector<std::size_t>{4, 3, 2}));
  EXPECT_EQ(kernel.open_events(), 0U);
}

TEST(Probe, FewCountersMakeSmallGroups) {
  FakeKernel kernel;
  kernel.counters = 2;
  const Probed probed = probe(kernel, order());
  EXPECT_EQ(probed.counters, 2);
  EXPECT_EQ(sizes(probed.set), (std::vector<std::size_t>{4, 2, 1, 2}));
}

TEST(Probe, AGuestWithoutAPmu) {
  FakeKernel kernel;
  kernel.refuse = [](const perf_event_attr& attr, int) {
    return attr.type == PERF_TYPE_SOFTWARE ? 0 : ENOENT;
  };
  PerfMachine machine = zen4();
  machine.has_pmu = false;
  const Probed probed = probe(kernel, order(machine));
  EXPECT_EQ(of(probed, Event::kTaskClock), kCounted);
  for (const Event event : {Event::kCycles, Event::kInstructions, Event::kL3Misses,
                            Event::kLocalDram, Event::kRemoteDram}) {
    EXPECT_EQ(of(probed, event), Availability::kNoSuchPmu);
  }
  EXPECT_THAT(detail(probed, Event::kCycles), HasSubstr("no PMU"));
  EXPECT_EQ(probed.counters, 0);
  EXPECT_EQ(sizes(probed.set), std::vector<std::size_t>{4});
}

TEST(Probe, AnEventThatThisPmuLacks) {
  FakeKernel kernel;
  kernel.refuse = [](const perf_event_attr& attr, int) {
    return attr.type == PERF_TYPE_RAW && attr.config == 0x4044 ? EOPNOTSUPP : 0;
  };
  const Probed probed = probe(kernel, order());
  EXPECT_EQ(of(probed, Event::kRemoteDram), Availability::kNotSupported);
  EXPECT_EQ(of(probed, Event::kLocalDram), kCounted);
  EXPECT_EQ(probed.set.position(Event::kRemoteDram), std::nullopt);
}

TEST(Probe, ACpuWithoutKnownCodes) {
  FakeKernel kernel;
  const Probed probed = probe(kernel, order({{Vendor::kIntel, 6, 0x4f, ""}, true}));
  EXPECT_EQ(of(probed, Event::kL3Misses), kCounted);
  EXPECT_EQ(of(probed, Event::kLocalDram), Availability::kNotSupported);
  EXPECT_THAT(detail(probed, Event::kLocalDram), HasSubstr("not known"));
}

TEST(Probe, NotPermitted) {
  FakeKernel kernel;
  kernel.refuse = [](const perf_event_attr&, int) { return EACCES; };
  const Probed probed = probe(kernel, order());
  for (const auto& each : probed.events) {
    EXPECT_EQ(each.availability, Availability::kNotPermitted);
    EXPECT_THAT(each.detail, HasSubstr("CAP_PERFMON"));
  }
  EXPECT_TRUE(probed.set.groups.empty());
}

TEST(Probe, NoDescriptor) {
  FakeKernel kernel;
  kernel.most_descriptors = 0;
  EXPECT_EQ(of(probe(kernel, order()), Event::kMigrations), Availability::kNoDescriptor);
}

TEST(Probe, HardwareSwitchedOffIsNotTried) {
  FakeKernel kernel;
  kernel.refuse = [](const perf_event_attr& attr, int) {
    EXPECT_EQ(attr.type, PERF_TYPE_SOFTWARE);
    return 0;
  };
  ProbeOrder off = order();
  off.hardware = false;
  const Probed probed = probe(kernel, off);
  EXPECT_EQ(of(probed, Event::kContextSwitches), kCounted);
  EXPECT_EQ(of(probed, Event::kCycles), Availability::kOff);
  EXPECT_EQ(sizes(probed.set), std::vector<std::size_t>{4});
}

TEST(Probe, APmuThatAcceptsAndStandsStill) {
  FakeKernel kernel;
  kernel.hardware_stands_still = true;
  const Probed probed = probe(kernel, order());
  EXPECT_EQ(of(probed, Event::kCycles), Availability::kNotSupported);
  EXPECT_EQ(of(probed, Event::kL3Misses), Availability::kNotSupported);
  EXPECT_THAT(detail(probed, Event::kCycles), HasSubstr("does not count"));
  EXPECT_EQ(of(probed, Event::kTaskClock), kCounted);
  EXPECT_EQ(probed.counters, 0);
}

}  // namespace
}  // namespace pinion::metrics::perf
