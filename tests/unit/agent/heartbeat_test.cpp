#include "agent/heartbeat.h"

#include <gtest/gtest.h>

namespace pinion::agent {
namespace {

using std::chrono::seconds;

TEST(Heartbeat, IsMissingOnceTheMainLoopHangs) {
  const Heartbeat::Clock::time_point start{};
  Heartbeat heart(start);
  EXPECT_EQ(heart.missing(start + Heartbeat::kPatience), "");
  EXPECT_EQ(heart.missing(start + seconds(12)), "the main loop has hung for 12 s");
  heart.beat(start + seconds(12));
  EXPECT_EQ(heart.missing(start + seconds(12)), "");
  EXPECT_EQ(heart.missing(start + seconds(22)), "");
  EXPECT_NE(heart.missing(start + seconds(23)), "");
}

}  // namespace
}  // namespace pinion::agent
