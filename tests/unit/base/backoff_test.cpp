#include "base/backoff.h"

#include <gtest/gtest.h>

namespace pinion {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheLongestAndBeginsAnew) {
  Backoff backoff(milliseconds(10), milliseconds(50));
  for (const int expected : {10, 20, 40, 50, 50}) EXPECT_EQ(backoff.next(), milliseconds(expected));
  backoff.reset();
  EXPECT_EQ(backoff.next(), milliseconds(10));
  EXPECT_EQ(backoff.next(), milliseconds(20));
}

TEST(Backoff, IsDrawnFromItsSecondHalf) {
  EXPECT_EQ(jittered(milliseconds(100), 0), milliseconds(50));
  EXPECT_EQ(jittered(milliseconds(100), 0.5), milliseconds(75));
  EXPECT_EQ(jittered(milliseconds(100), 1), milliseconds(100));
}

}  // namespace
}  // namespace pinion
