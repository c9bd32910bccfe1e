#include "agent/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

namespace pinion::agent {
namespace {

TEST(Published, HandsOutTheNewestValue) {
  Published<int> numbers;
  EXPECT_EQ(numbers.get(), nullptr);
  numbers.publish(std::make_shared<const int>(1));
  const auto one = numbers.get();
  numbers.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*numbers.get(), 2);
  EXPECT_EQ(*one, 1) << "a reader keeps what it has";
}

TEST(Published, CallsSubscribersWhileTheyStay) {
  Published<int> numbers;
  int calls = 0;
  int seen = 0;
  Subscription subscription = numbers.subscribe([&] {
    ++calls;
    seen = *numbers.get();
  });
  numbers.publish(std::make_shared<const int>(7));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, 7);
  {
    const Subscription moved = std::move(subscription);
    numbers.publish(std::make_shared<const int>(8));
    EXPECT_EQ(calls, 2);
  }
  numbers.publish(std::make_shared<const int>(9));
  EXPECT_EQ(calls, 2);
}

TEST(Published, SubscriptionMayOutliveIt) {
  const auto owned = std::make_shared<int>();  // by the callback
  Subscription subscription;
  {
    Published<int> numbers;
    subscription = numbers.subscribe([owned] { (void)owned; });
  }
  EXPECT_EQ(owned.use_count(), 2) << "the list of callbacks is still there to leave";
  subscription.reset();
  EXPECT_EQ(owned.use_count(), 1) << "and was left";
}

TEST(Published, LeavingWaitsForACallThatRuns) {
  Published<int> numbers;
  std::latch inside(1);
  std::latch leaving(1);
  std::atomic<bool> done = false;
  Subscription subscription = numbers.subscribe([&] {
    inside.count_down();
    leaving.wait();
    done = true;
  });
  std::thread publisher([&] { numbers.publish(std::make_shared<const int>(1)); });
  inside.wait();
  leaving.count_down();
  subscription.reset();
  EXPECT_TRUE(done);
  publisher.join();
}

TEST(Published, MayBeReadAndLeftWhileItIsPublished) {
  Published<int> numbers;
  constexpr int kLast = 2000;
  std::atomic<int> calls = 0;
  std::thread publisher([&] {
    for (int i = 1; i <= kLast; ++i) numbers.publish(std::make_shared<const int>(i));
  });
  std::thread reader([&] {
    int before = 0;
    while (before < kLast) {
      const auto value = numbers.get();
      if (!value) continue;
      EXPECT_GE(*value, before);
      before = *value;
    }
  });
  for (int i = 0; i < 200; ++i) {
    const Subscription subscription = numbers.subscribe([&] { ++calls; });
  }
  publisher.join();
  reader.join();
  const int before = calls;
  numbers.publish(std::make_shared<const int>(0));
  EXPECT_EQ(calls, before) << "nobody is left";
}

}  // namespace
}  // namespace pinion::agent
