#include "metrics/task_totals.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace pinion::metrics {
namespace {

using Ids = std::vector<int>;

// A thread with these switches, and ten times as many nanoseconds of waiting.
TaskCounters counts(std::uint64_t voluntary, std::uint64_t involuntary = 0) {
  return {.voluntary_switches = voluntary,
          .involuntary_switches = involuntary,
          .run_queue_wait_ns = voluntary * 10};
}

// One scan of threads that all read as given.
void scan(TaskTotals& totals, const std::vector<std::pair<int, TaskCounters>>& tasks) {
  Ids ids;
  for (const auto& [id, now] : tasks) ids.push_back(id);
  for (const int chosen : totals.begin_scan(ids)) {
    for (const auto& [id, now] : tasks) {
      if (id == chosen) totals.add(id, now);
    }
  }
}

Ids numbers(int first, int count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

TEST(TaskTotals, AFreshContainerCountsInFull) {
  TaskTotals totals(true);
  EXPECT_FALSE(totals.threads());
  EXPECT_EQ(totals.sums(), TaskCounters{});
  scan(totals, {{1, counts(100, 7)}, {2, counts(5)}});
  EXPECT_EQ(totals.threads(), 2U);
  EXPECT_EQ(totals.sums(),
            (TaskCounters{
                .voluntary_switches = 105, .involuntary_switches = 7, .run_queue_wait_ns = 1050}));
  scan(totals, {{1, counts(101, 9)}, {2, counts(5)}, {3, counts(4)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 110U);
  EXPECT_EQ(totals.sums().involuntary_switches, 9U);
  EXPECT_EQ(totals.threads(), 3U);
}

TEST(TaskTotals, AContainerFoundRunningBeginsAtZeroButItsNewThreadsCountInFull) {
  TaskTotals totals(false);
  scan(totals, {{1, counts(1000)}, {2, counts(500)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 0U);
  scan(totals, {{1, counts(1003)}, {2, counts(500)}, {9, counts(40)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 43U);
}

TEST(TaskTotals, AnEndedThreadKeepsWhatItHad) {
  TaskTotals totals(true);
  scan(totals, {{1, counts(100)}, {2, counts(50)}});
  scan(totals, {{2, counts(51)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 151U);
  EXPECT_EQ(totals.threads(), 1U);
  scan(totals, {});
  EXPECT_EQ(totals.sums().voluntary_switches, 151U);
  EXPECT_EQ(totals.threads(), 0U);
}

TEST(TaskTotals, AnIdUsedAgainIsAnotherThread) {
  for (const bool fresh : {true, false}) {
    SCOPED_TRACE(fresh ? "fresh" : "found running");
    TaskTotals totals(fresh);
    scan(totals, {{1, counts(100)}});
    const std::uint64_t start = totals.sums().voluntary_switches.value();
    EXPECT_EQ(start, fresh ? 100U : 0U);
    // At once: its counters went back. Only one of them has to.
    scan(totals, {{1, counts(30)}});
    EXPECT_EQ(totals.sums().voluntary_switches, start + 30);
    // After a scan without it: told by that alone, although its counters are higher.
    scan(totals, {});
    scan(totals, {{1, counts(70)}});
    EXPECT_EQ(totals.sums().voluntary_switches, start + 100);
  }
}

TEST(TaskTotals, OneCounterThatGoesBackIsEnough) {
  TaskTotals totals(true);
  scan(totals, {{1, counts(10, 5)}});
  scan(totals, {{1, counts(20, 4)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 30U);
  EXPECT_EQ(totals.sums().involuntary_switches, 9U);
}

TEST(TaskTotals, AVanishedThreadIsOrdinary) {
  TaskTotals totals(true);
  EXPECT_EQ(totals.begin_scan({1, 2}), (Ids{1, 2}));
  totals.add(2, counts(3));  // 1 could not be read
  EXPECT_EQ(totals.sums().voluntary_switches, 3U);
  EXPECT_EQ(totals.threads(), 2U);
  totals.add(77, counts(9));  // nobody asked for it
  EXPECT_EQ(totals.sums().voluntary_switches, 3U);
  EXPECT_FALSE(totals.incomplete());
}

TEST(TaskTotals, WhatNoThreadSaysIsNotSet) {
  TaskTotals totals(true);
  scan(totals, {{1, {.voluntary_switches = 4}}});
  EXPECT_EQ(totals.sums(), TaskCounters{.voluntary_switches = 4});
  scan(totals, {{1, {.voluntary_switches = 4, .run_queue_wait_ns = 70}}});
  EXPECT_EQ(totals.sums().run_queue_wait_ns, 70U);  // all of it since the thread's start
  // Unread once: it goes on where it was.
  scan(totals, {{1, {.voluntary_switches = 5}}});
  scan(totals, {{1, {.voluntary_switches = 5, .run_queue_wait_ns = 75}}});
  EXPECT_EQ(totals.sums().run_queue_wait_ns, 75U);
}

TEST(TaskTotals, ABaselineHoldsForACounterThatIsReadLater) {
  TaskTotals totals(false);
  scan(totals, {{1, counts(4)}});
  TaskCounters with_migrations = counts(6);
  with_migrations.migrations = 1000;
  scan(totals, {{1, with_migrations}});
  EXPECT_EQ(totals.sums().migrations, 0U);
  EXPECT_EQ(totals.sums().voluntary_switches, 2U);
}

TEST(TaskTotals, ThreadsOfALargeContainerTakeTurns) {
  TaskTotals totals(true, {.read_per_scan = 4, .tracked = 100});
  const Ids ids = numbers(11, 10);
  EXPECT_EQ(totals.begin_scan(ids), (Ids{11, 12, 13, 14}));
  EXPECT_EQ(totals.begin_scan(ids), (Ids{15, 16, 17, 18}));
  EXPECT_EQ(totals.begin_scan(ids), (Ids{19, 20, 11, 12}));
  // The next in turn is gone, and so is the highest.
  EXPECT_EQ(totals.begin_scan({11, 12, 14, 15, 16}), (Ids{14, 15, 16, 11}));
  EXPECT_EQ(totals.begin_scan({11}), (Ids{11}));
  EXPECT_EQ(totals.begin_scan({}), Ids{});
  EXPECT_EQ(totals.threads(), 0U);
}

TEST(TaskTotals, ThreadsOfTheFirstScanAreABaselineThoughTheyAreReadLater) {
  TaskTotals totals(false, {.read_per_scan = 1, .tracked = 100});
  scan(totals, {{1, counts(1000)}, {2, counts(2000)}});
  scan(totals, {{1, counts(1001)}, {2, counts(2005)}, {3, counts(8)}});  // reads 2: begins there
  EXPECT_EQ(totals.sums().voluntary_switches, 0U);
  scan(totals, {{1, counts(1001)}, {2, counts(2005)}, {3, counts(8)}});  // reads 3: in full
  EXPECT_EQ(totals.sums().voluntary_switches, 8U);
  scan(totals, {{1, counts(1002)}, {2, counts(2005)}, {3, counts(8)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 10U);
}

TEST(TaskTotals, TenThousandThreadsAreAllCountedInTenScans) {
  TaskTotals totals(true);
  const Ids ids = numbers(1, 10000);
  std::size_t readings = 0;
  for (int pass = 0; pass < 10; ++pass) {
    const Ids chosen = totals.begin_scan(ids);
    EXPECT_LE(chosen.size(), 1024U);
    readings += chosen.size();
    for (const int id : chosen) totals.add(id, counts(static_cast<std::uint64_t>(id)));
  }
  EXPECT_EQ(readings, 10240U);
  EXPECT_EQ(totals.threads(), 10000U);
  EXPECT_EQ(totals.sums().voluntary_switches, 10000U * 10001 / 2);
  EXPECT_FALSE(totals.incomplete());
}

TEST(TaskTotals, MoreThanIsTrackedIsSaidAndNeverInvented) {
  TaskTotals totals(true, {.read_per_scan = 10, .tracked = 3});
  scan(totals, {{1, counts(1)}, {2, counts(2)}, {3, counts(3)}, {4, counts(1000)}});
  EXPECT_TRUE(totals.incomplete());
  EXPECT_EQ(totals.threads(), 4U);
  EXPECT_EQ(totals.sums().voluntary_switches, 6U);
  // A low id does not take the place of one that is tracked.
  scan(totals, {{0, counts(900)}, {1, counts(1)}, {2, counts(2)}, {3, counts(5)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 8U);
  // A place is free: it may be an old thread, so it begins here.
  scan(totals, {{1, counts(1)}, {3, counts(5)}, {4, counts(1000)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 8U);
  scan(totals, {{1, counts(1)}, {3, counts(5)}, {4, counts(1001)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 9U);
  EXPECT_TRUE(totals.incomplete());
}

TEST(TaskTotals, AfterAnIncompleteListNothingIsCountedTwice) {
  TaskTotals totals(true);
  scan(totals, {{1, counts(100)}, {2, counts(200)}});
  for (const int id : totals.begin_scan({1}, false)) totals.add(id, counts(101));
  EXPECT_TRUE(totals.incomplete());
  scan(totals, {{1, counts(101)}, {2, counts(205)}});
  EXPECT_EQ(totals.sums().voluntary_switches, 301U);
}

}  // namespace
}  // namespace pinion::metrics
