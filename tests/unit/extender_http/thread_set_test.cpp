#include "cluster/extender/http/thread_set.h"

#include <gtest/gtest.h>

#include <future>

namespace pinion::cluster {
namespace {

constexpr std::size_t kStack = 256U << 10U;

TEST(ThreadSet, RunsAsManyAsItMayAndNoMore) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  ThreadSet threads(3, kStack);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(threads.run([ended] { ended.wait(); }));
  EXPECT_FALSE(threads.run([] {}));
  EXPECT_EQ(threads.running(), 3U);
  EXPECT_FALSE(threads.wait_idle(std::chrono::milliseconds(1)));
  end.set_value();
  EXPECT_TRUE(threads.wait_idle(std::chrono::seconds(30)));
  EXPECT_EQ(threads.running(), 0U);
  EXPECT_TRUE(threads.run([] {}));
}

TEST(ThreadSet, WaitsForAllWorkAtItsEnd) {
  std::atomic<int> done = 0;
  {
    ThreadSet threads(100, kStack);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(threads.run([&] { ++done; }));
  }
  EXPECT_EQ(done, 100);
}

TEST(ThreadSet, SaysSoWhenThereIsNoThread) {
  ThreadSet threads(3, 1);  // a stack that no system gives
  EXPECT_FALSE(threads.run([] {}));
  EXPECT_EQ(threads.running(), 0U);
}

}  // namespace
}  // namespace pinion::cluster
