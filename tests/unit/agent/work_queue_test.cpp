#include "agent/engine/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::engine {
namespace {

std::string drained(WorkQueue& queue) {
  std::string order;
  while (const auto item = queue.pop()) {
    order += item->key + (item->cause == Cause::kStart ? "! " : " ");
  }
  return order;
}

TEST(WorkQueue, GivesEachKeyOnceInTheOrderOfTheLastPush) {
  WorkQueue queue;
  for (const char* key : {"a", "b", "c", "a"}) queue.push(key, Cause::kFence);
  queue.push("c", Cause::kStart);
  EXPECT_EQ(drained(queue), "b a c! ");
  EXPECT_EQ(drained(queue), "");
}

TEST(WorkQueue, WhatOthersDependOnGoesBeforeThemAndOnce) {
  WorkQueue queue;
  for (const char* key : {"a", "b"}) queue.push(key, Cause::kFence);
  for (const char* key : {"p", "b", "p"}) queue.push_first(key, Cause::kStart);
  EXPECT_EQ(drained(queue), "p! b! a ");
  EXPECT_EQ(drained(queue), "");
}

TEST(WorkQueue, AKeyThatComesBackAgainAndAgainIsPassedOverUntilTheQueueRanDry) {
  WorkQueue queue;
  for (int round = 0; round < 2; ++round) {
    int turns = 0;
    queue.push("a", Cause::kFence);
    while (turns < 100 && queue.pop()) {
      ++turns;
      queue.push("a", Cause::kFence);
    }
    EXPECT_EQ(turns, WorkQueue::kMostTurns);
  }
}

TEST(WorkQueue, WhatIsPutOffIsThereOnceAndBesideTheRest) {
  WorkQueue queue;
  for (const char* key : {"a", "b", "a"}) queue.put_off(key);
  queue.push("c", Cause::kFence);
  EXPECT_EQ(drained(queue), "c ");
  EXPECT_EQ(queue.pop_put_off(), "a");
  queue.put_off("a");
  EXPECT_EQ(queue.pop_put_off(), "b");
  EXPECT_EQ(queue.pop_put_off(), "a");
  EXPECT_FALSE(queue.has_put_off());
}

}  // namespace
}  // namespace pinion::engine
