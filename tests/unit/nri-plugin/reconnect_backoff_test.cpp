#include "nri-plugin/reconnect_backoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace pinion::nri {
namespace {

using testing::ElementsAre;
using Milliseconds = ReconnectBackoff::Milliseconds;

TEST(ReconnectBackoff, AbsentSocketIsTriedAtLeastFiveTimesASecond) {
  ReconnectBackoff backoff;
  std::vector<long> waits;
  for (int i = 0; i < 8; ++i) waits.push_back(backoff.connect_failed().count());
  EXPECT_THAT(waits, ElementsAre(10, 20, 40, 80, 160, 200, 200, 200));
}

TEST(ReconnectBackoff, RejectingRuntimeIsTriedEverMoreSlowly) {
  ReconnectBackoff backoff;
  std::vector<long> waits;
  for (int i = 0; i < 10; ++i) waits.push_back(backoff.session_failed(Milliseconds(0)).count());
  EXPECT_THAT(waits, ElementsAre(50, 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000));
}

TEST(ReconnectBackoff, AGoodSessionStartsBothAnew) {
  ReconnectBackoff backoff;
  for (int i = 0; i < 5; ++i) {
    EXPECT_GT(backoff.connect_failed().count(), 0);
    EXPECT_GT(backoff.session_failed(Milliseconds(999)).count(), 0);
  }
  EXPECT_EQ(backoff.session_failed(Milliseconds(1000)).count(), 10);
  EXPECT_EQ(backoff.connect_failed().count(), 10);
  EXPECT_EQ(backoff.session_failed(Milliseconds(0)).count(), 50);
}

TEST(ReconnectBackoff, ARuntimeThatTakesConnectionsIsNotAnAbsentOne) {
  ReconnectBackoff backoff;
  for (int i = 0; i < 9; ++i) EXPECT_GT(backoff.connect_failed().count(), 0);
  EXPECT_EQ(backoff.session_failed(Milliseconds(0)).count(), 50);
  EXPECT_EQ(backoff.connect_failed().count(), 10);
}

}  // namespace
}  // namespace pinion::nri
