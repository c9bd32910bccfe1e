#include "metrics/collect/intrusion.h"

#include <gtest/gtest.h>

namespace pinion::metrics {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

struct Step {
  std::map<topology::CpuId, CoreTimes> cores;
  std::uint64_t total_ms;
};

struct Case {
  const char* name;
  std::vector<Step> steps;
};

CoreTimes ms(std::uint64_t busy, std::uint64_t own) {
  return {.busy_ns = busy * kMs, .own_ns = own * kMs};
}

const std::vector<Case> kCases = {
    {"the first reading is the zero", {{{{1, ms(500, 20)}}, 0}, {{{1, ms(500, 20)}}, 0}}},
    {"a core that ran its container alone",
     {{{{1, ms(0, 0)}}, 0}, {{{1, ms(900, 900)}}, 0}, {{{1, ms(950, 950)}}, 0}}},
    {"somebody else ran for 30 ms",
     {{{{1, ms(100, 50)}}, 0}, {{{1, ms(230, 150)}}, 0}, {{{1, ms(230, 150)}}, 30}}},
    {"a single reading that is off counts nothing",
     {{{{1, ms(0, 0)}}, 0}, {{{1, ms(900, 90)}}, 0}, {{{1, ms(190, 190)}}, 0}}},
    {"clocks read one after the other never make it go back",
     {{{{1, ms(0, 0)}}, 0},
      {{{1, ms(100, 90)}}, 0},
      {{{1, ms(200, 190)}}, 10},
      {{{1, ms(290, 295)}}, 10},
      {{{1, ms(400, 385)}}, 10},
      {{{1, ms(400, 385)}}, 15}}},
    {"cores add up",
     {{{{1, ms(0, 0)}, {2, ms(0, 0)}}, 0},
      {{{1, ms(50, 40)}, {2, ms(50, 30)}}, 0},
      {{{1, ms(50, 40)}, {2, ms(50, 30)}}, 30}}},
    {"a core given back keeps what it had",
     {{{{1, ms(0, 0)}, {2, ms(0, 0)}}, 0},
      {{{1, ms(50, 40)}, {2, ms(50, 30)}}, 0},
      {{{1, ms(60, 50)}, {2, ms(50, 30)}}, 30},
      {{{1, ms(60, 50)}}, 30}}},
    {"what others ran while it was not held does not count",
     {{{{1, ms(0, 0)}}, 0},
      {{{1, ms(50, 40)}}, 0},
      {{{1, ms(50, 40)}}, 10},
      {{}, 10},
      {{{1, ms(900, 40)}}, 10},
      {{{1, ms(950, 70)}}, 10},
      {{{1, ms(960, 80)}}, 30}}},
    {"the container's clock began anew",
     {{{{1, ms(0, 0)}}, 0},
      {{{1, ms(50, 40)}}, 0},
      {{{1, ms(50, 40)}}, 10},
      {{{1, ms(60, 5)}}, 10},
      {{{1, ms(100, 25)}}, 10},
      {{{1, ms(100, 25)}}, 30}}},
    {"the core's clock went back",
     {{{{1, ms(500, 0)}}, 0}, {{{1, ms(400, 0)}}, 0}, {{{1, ms(400, 0)}}, 0}}},
};

TEST(Intrusion, CountsWhatWasNotTheContainer) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    Intrusion intrusion;
    EXPECT_FALSE(intrusion.total_ns().has_value());
    for (const Step& step : one.steps) {
      intrusion.update(step.cores);
      EXPECT_EQ(intrusion.total_ns(), step.total_ms * kMs);
    }
  }
}

}  // namespace
}  // namespace pinion::metrics
