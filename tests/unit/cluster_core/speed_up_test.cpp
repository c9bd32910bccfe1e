#include "cluster/core/speed_up.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

TEST(SpeedUp, ByAmdahlsLaw) {
  const SpeedUp guess;
  EXPECT_DOUBLE_EQ(guess.rate(1), 1);
  EXPECT_DOUBLE_EQ(guess.rate(16), 6.4);
  const SpeedUp of_eight(0.25, 8);
  EXPECT_DOUBLE_EQ(of_eight.rate(8), 1);
  EXPECT_DOUBLE_EQ(of_eight.rate(1), (0.25 + 0.75 / 8));
  EXPECT_DOUBLE_EQ(SpeedUp(0, 4).rate(8), 2);
}

TEST(SpeedUp, BetweenDeclaredSizesTheTimeIsLinear) {
  const SpeedUp declared({{16, 0.25}, {4, 0.1}});  // 4 s and 10 s
  EXPECT_DOUBLE_EQ(declared.rate(4), 0.1);
  EXPECT_DOUBLE_EQ(declared.rate(10), 1 / 7.0);
  EXPECT_DOUBLE_EQ(declared.rate(16), 0.25);
  EXPECT_DOUBLE_EQ(declared.rate(64), 0.25);
  EXPECT_DOUBLE_EQ(declared.rate(1), 0.025);
}

TEST(SpeedUp, WhatWasSeenCounts) {
  SpeedUp speed_up(0, 4);  // linear, 1 with 4
  speed_up.see(std::vector<SizeRate>{{4, 7}, {4, 0.5}});
  EXPECT_DOUBLE_EQ(speed_up.rate(4), 0.5);
  EXPECT_DOUBLE_EQ(speed_up.rate(8), 1);  // the shape stays
  speed_up.see(std::vector<SizeRate>{{4, 0.5}, {8, 1.5}});
  EXPECT_DOUBLE_EQ(speed_up.rate(4), 0.5);
  EXPECT_DOUBLE_EQ(speed_up.rate(8), 1.5);
  EXPECT_DOUBLE_EQ(speed_up.rate(6), 1.5 * (0.5 + 0.75) / 2);
  EXPECT_DOUBLE_EQ(speed_up.rate(16), 3);
  EXPECT_DOUBLE_EQ(speed_up.rate(1), 0.125);
}

}  // namespace
}  // namespace pinion::cluster
