// Which bodies make room for which.
#include "cluster/extender/http/body_room.h"

#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

// A body, and how often it was told to stop.
struct Coming {
  int stops = 0;
  BodyRoom::Share share;

  explicit Coming(BodyRoom& room) : share(room, [this] { ++stops; }) {}
};

TEST(BodyRoom, TheOldestMakeRoomAsFarAsNeeded) {
  BodyRoom room(100);
  Coming first(room);
  Coming second(room);
  Coming third(room);
  Coming fourth(room);
  ASSERT_TRUE(third.share.grow(30));
  ASSERT_TRUE(second.share.grow(30));
  ASSERT_TRUE(first.share.grow(40));
  EXPECT_TRUE(fourth.share.grow(50));
  EXPECT_EQ(first.stops, 1);
  EXPECT_EQ(second.stops, 1);
  EXPECT_EQ(third.stops, 0);
  EXPECT_FALSE(first.share.grow(40));
  EXPECT_FALSE(first.share.arrived());
  EXPECT_TRUE(fourth.share.grow(70)) << "what is left";
  EXPECT_EQ(third.stops, 0);
  EXPECT_TRUE(third.share.arrived());
}

TEST(BodyRoom, NoneMakesRoomForAnOlderOne) {
  BodyRoom room(100);
  Coming slow(room);
  Coming quick(room);
  ASSERT_TRUE(slow.share.grow(50));
  ASSERT_TRUE(quick.share.grow(50));
  EXPECT_FALSE(slow.share.grow(60));
  EXPECT_EQ(quick.stops, 0);
  EXPECT_TRUE(quick.share.arrived());
}

TEST(BodyRoom, NoneIsEndedInVain) {
  BodyRoom room(100);
  Coming old(room);
  Coming whole(room);
  ASSERT_TRUE(old.share.grow(30));
  ASSERT_TRUE(whole.share.grow(60));
  ASSERT_TRUE(whole.share.arrived());
  {
    Coming large(room);
    EXPECT_FALSE(large.share.grow(50));
    EXPECT_FALSE(large.share.grow(101));
    EXPECT_EQ(old.stops, 0);
    EXPECT_TRUE(large.share.grow(40));
    EXPECT_EQ(old.stops, 1);
  }
  Coming next(room);
  EXPECT_TRUE(next.share.grow(40)) << "given back";
  EXPECT_EQ(whole.stops, 0);
}

}  // namespace
}  // namespace pinion::cluster
