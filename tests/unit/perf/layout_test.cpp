#include "metrics/perf/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace pinion::metrics::perf {
namespace {

using Names = std::vector<std::vector<Event>>;

Names names(const EventSet& set) {
  Names out;
  for (const Group& group : set.groups) {
    out.emplace_back();
    for (const Counted& counted : group) out.back().push_back(counted.event);
  }
  return out;
}

std::vector<Counted> all(Core core = Core::kZen4) {
  std::vector<Counted> out;
  for (std::size_t i = 0; i < kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    out.push_back({event, code_of(core, event).encoding.value()});
  }
  return out;
}

const std::vector<Event> kSoftware = {Event::kContextSwitches, Event::kMigrations,
                                      Event::kPageFaults, Event::kTaskClock};
constexpr Event kCyc = Event::kCycles;
constexpr Event kIns = Event::kInstructions;
constexpr Event kL3 = Event::kL3Misses;
constexpr Event kLoc = Event::kLocalDram;
constexpr Event kRem = Event::kRemoteDram;

struct LayoutCase {
  const char* name;
  int counters;
  Names expected;
};

class Layout : public testing::TestWithParam<LayoutCase> {};

TEST_P(Layout, OfAllEvents) {
  EXPECT_EQ(names(layout(all(), GetParam().counters)), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Counters, Layout,
    testing::Values(LayoutCase{"no_pmu", 0, {kSoftware}}, LayoutCase{"negative", -1, {kSoftware}},
                    LayoutCase{"one", 1, {kSoftware, {kCyc}, {kIns}, {kL3}, {kLoc}, {kRem}}},
                    LayoutCase{"two", 2, {kSoftware, {kCyc, kIns}, {kL3}, {kLoc, kRem}}},
                    LayoutCase{"three", 3, {kSoftware, {kCyc, kIns, kL3}, {kLoc, kRem}}},
                    LayoutCase{"six", 6, {kSoftware, {kCyc, kIns, kL3}, {kLoc, kRem}}}),
    [](const auto& tested) { return tested.param.name; });

TEST(LayoutOfSome, WhatIsNotThereLeavesNoHole) {
  std::vector<Counted> some = {{kIns, {}}, {kRem, {}}, {Event::kTaskClock, {}}};
  EXPECT_EQ(names(layout(some, 6)), (Names{{Event::kTaskClock}, {kIns}, {kRem}}));
  EXPECT_EQ(layout({}, 6), EventSet{});
}

TEST(LayoutOfSome, PositionIsOverAllGroups) {
  const EventSet set = layout(all(), 6);
  EXPECT_EQ(set.events(), kEvents);
  EXPECT_EQ(set.position(Event::kContextSwitches), 0U);
  EXPECT_EQ(set.position(kCyc), 4U);
  EXPECT_EQ(set.position(kRem), 8U);
  EXPECT_EQ(layout(all(), 0).position(kCyc), std::nullopt);
}

// Whatever is asked for: each once, no hardware group larger than the PMU, nothing invented.
RC_GTEST_PROP(LayoutProperties, EachOnceAndNoGroupTooLarge, ()) {
  const auto picks = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9));
  const int counters = *rc::gen::inRange(0, 8);
  std::vector<Counted> events;
  std::set<Event> asked;
  for (const int pick : picks) {
    events.push_back(all()[static_cast<std::size_t>(pick)]);
    if (is_software(events.back().event) || counters > 0) asked.insert(events.back().event);
  }
  std::set<Event> got;
  for (const Group& group : layout(events, counters).groups) {
    RC_ASSERT(!group.empty());
    const bool software = is_software(group.front().event);
    RC_ASSERT(software || group.size() <= static_cast<std::size_t>(counters));
    for (const Counted& counted : group) {
      RC_ASSERT(is_software(counted.event) == software);
      RC_ASSERT(got.insert(counted.event).second);
    }
  }
  RC_ASSERT(got == asked);
}

}  // namespace
}  // namespace pinion::metrics::perf
