#include "metrics/perf/carry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace pinion::metrics::perf {
namespace {

TEST(Carry, AddsUpOverLives) {
  Carry carry;
  carry.read({100, 10, 10});
  carry.read({150, 20, 20});
  EXPECT_EQ(carry.total(), 150U);
  carry.reopened();
  EXPECT_EQ(carry.total(), 150U);
  carry.read({7, 5, 5});
  EXPECT_EQ(carry.total(), 157U);
  EXPECT_EQ(carry.enabled(), 25U);
  EXPECT_EQ(carry.running(), 25U);
}

TEST(Carry, EachIntervalIsScaledByItsOwnShare) {
  Carry carry;
  carry.read({1000, 100, 100});  // alone on the PMU
  carry.read({1500, 200, 150});  // shared it
  EXPECT_EQ(carry.total(), 2000U);
  carry.read({2500, 300, 250});  // alone again
  EXPECT_EQ(carry.total(), 3000U);
}

TEST(Carry, AGapIsFilledWithTheRateFoundAfterIt) {
  Carry carry;
  carry.read({1000, 100, 100});
  carry.read({1000, 200, 100});  // not on the PMU: nothing is known
  EXPECT_EQ(carry.total(), 1000U);
  carry.read({2000, 300, 200});  // 1000 in 100 of the 200 since
  EXPECT_EQ(carry.total(), 3000U);
}

TEST(Carry, TimeOffThePmuIsSeenEvenInAGap) {
  Carry carry;
  carry.read({0, 500, 0});
  EXPECT_EQ(carry.total(), 0U);
  EXPECT_EQ(carry.enabled(), 500U);
  EXPECT_EQ(carry.running(), 0U);
}

TEST(Carry, AReadingThatGoesBackIsNothingNew) {
  Carry carry;
  carry.read({100, 10, 10});
  carry.read({90, 9, 9});
  EXPECT_EQ(carry.total(), 100U);
  carry.read({110, 11, 11});
  EXPECT_EQ(carry.total(), 110U);
}

TEST(Carry, ReopenedWithoutAReadingChangesNothing) {
  Carry carry;
  carry.reopened();
  carry.read({5, 1, 1});
  carry.reopened();
  carry.reopened();
  EXPECT_EQ(carry.total(), 5U);
  EXPECT_EQ(carry.enabled(), 1U);
}

rc::Gen<std::uint64_t> up_to(std::uint64_t most) {
  return rc::gen::inRange<std::uint64_t>(0, most);
}

RC_GTEST_PROP(CarryProperties, NeverGoesBackWhateverIsBelowIt, ()) {
  Carry carry;
  std::uint64_t before = 0;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    if (*rc::gen::inRange(0, 4) == 0) {
      carry.reopened();
    } else {
      const auto shift = *rc::gen::inRange(0U, 64U);
      carry.read({*rc::gen::arbitrary<std::uint64_t>() >> shift,
                  *rc::gen::arbitrary<std::uint64_t>() >> shift,
                  *rc::gen::arbitrary<std::uint64_t>() >> shift});
    }
    RC_ASSERT(carry.total() >= before);
    before = carry.total();
  }
}

RC_GTEST_PROP(CarryProperties, IsTheExactSumWhereNothingIsScaled, ()) {
  Carry carry;
  Reading now;
  std::uint64_t sum = 0;
  std::uint64_t time = 0;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    if (*rc::gen::inRange(0, 4) == 0) {
      carry.reopened();
      now = {};
    }
    const std::uint64_t counted = *up_to(1'000'000'000'000);
    const std::uint64_t ran = *up_to(1'000'000'000);
    now = {now.value + counted, now.enabled + ran, now.running + ran};
    carry.read(now);
    if (*rc::gen::inRange(0, 3) == 0) carry.read(now);  // reading twice counts once
    sum += counted;
    time += ran;
  }
  RC_ASSERT(carry.total() == sum);
  RC_ASSERT(carry.running() == time);
  RC_ASSERT(carry.enabled() == time);
}

// A program that does the same in every nanosecond, on a PMU that is shared at will: the total is
// what an unshared PMU had counted, but for the rounding of each reading.
RC_GTEST_PROP(CarryProperties, FindsTheRateOfASteadyProgram, ()) {
  const std::uint64_t rate = *rc::gen::inRange<std::uint64_t>(1, 1000);
  Carry carry;
  Reading now;
  const int steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t ran = *up_to(1'000'000);
    now.enabled += ran + *up_to(3'000'000);
    now.running += ran;
    now.value += ran * rate;
    carry.read(now);
  }
  // Close the last gap.
  now = {now.value + rate, now.enabled + 1, now.running + 1};
  carry.read(now);
  const auto expected = static_cast<double>(rate) * static_cast<double>(now.enabled);
  RC_ASSERT(std::fabs(static_cast<double>(carry.total()) - expected) <= 0.5 * (steps + 1) + 1);
}

}  // namespace
}  // namespace pinion::metrics::perf
