#include "metrics/perf/scaling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace pinion::metrics::perf {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

struct ScalingCase {
  const char* name;
  Reading reading;
  std::uint64_t expected;
};

class Scale : public testing::TestWithParam<ScalingCase> {};

TEST_P(Scale, Table) {
  EXPECT_EQ(scale(GetParam().reading), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Readings, Scale,
    testing::Values(ScalingCase{"always_on_the_pmu", {1000, 77, 77}, 1000},
                    ScalingCase{"half_the_time", {1000, 80, 40}, 2000},
                    ScalingCase{"rounded_down", {10, 4, 3}, 13},
                    ScalingCase{"rounded_up", {11, 4, 3}, 15},
                    ScalingCase{"half_is_rounded_up", {1, 3, 2}, 2},
                    ScalingCase{"never_on_the_pmu", {0, 1000, 0}, 0},
                    ScalingCase{"value_without_time", {5, 0, 0}, 5},
                    ScalingCase{"more_running_than_enabled", {1000, 40, 50}, 1000},
                    ScalingCase{
                        "product_beyond_64_bits",
                        {std::uint64_t{1} << 60U, std::uint64_t{3} << 60U, std::uint64_t{2} << 60U},
                        (std::uint64_t{1} << 60U) + (std::uint64_t{1} << 59U)},
                    ScalingCase{"more_than_can_be_said", {kMost, kMost, 1}, kMost},
                    ScalingCase{"largest_that_fits", {kMost / 2, 2, 1}, kMost - 1},
                    ScalingCase{"rounding_does_not_wrap", {kMost - 1, kMost, kMost - 1}, kMost}),
    [](const auto& tested) { return tested.param.name; });

TEST(SaturatingAdd, StandsStillAtTheEnd) {
  EXPECT_EQ(saturating_add(2, 3), 5U);
  EXPECT_EQ(saturating_add(kMost, 0), kMost);
  EXPECT_EQ(saturating_add(kMost - 1, 1), kMost);
  EXPECT_EQ(saturating_add(kMost - 1, 2), kMost);
}

RC_GTEST_PROP(ScaleProperties, AgreesWithRealNumbersAndNeverLosesAny, ()) {
  const auto value = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0U, 64U);
  const auto running = 1 + (*rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(1U, 64U));
  const auto waited = *rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(1U, 64U);
  const std::uint64_t got = scale({value, running + waited, running});
  RC_ASSERT(got >= value);
  const long double real = static_cast<long double>(value) *
                           static_cast<long double>(running + waited) /
                           static_cast<long double>(running);
  const auto expected = std::fmin(real, static_cast<long double>(kMost));
  RC_ASSERT(std::fabs(static_cast<long double>(got) - expected) <= 0.5L + expected * 1e-18L);
}

}  // namespace
}  // namespace pinion::metrics::perf
