#include "cluster/extender/program/keyed_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <random>
#include <semaphore>
#include <set>
#include <string>
#include <thread>

#include "tests/support/eventually.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Queue = KeyedQueue<std::string, int>;
using test_support::eventually;

// What was worked on, in order; the first piece of work can be held up.
class Worker {
 public:
  Worked work(const std::string& key, int value) {
    std::unique_lock lock(mutex_);
    done_.push_back(key + std::to_string(value));
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_; });
    return answer ? answer(done_.size()) : Worked::kDone;
  }
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 10s, [&] { return done_.size() >= count; }));
    return done_;
  }
  void hold(bool on) {
    const std::lock_guard lock(mutex_);
    held_ = on;
    changed_.notify_all();
  }
  std::function<Worked(const std::string&, const int&)> function() {
    return [this](const std::string& key, int value) { return work(key, value); };
  }

  std::function<Worked(std::size_t count)> answer;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> done_;
  bool held_ = false;
};

bool always() {
  return true;
}

TEST(KeyedQueue, WorksOnAKeyOnceWithItsNewestValue) {
  Worker worker;
  worker.hold(true);
  Queue queue({.most = 10}, always, worker.function());
  queue.add("a", 1);
  worker.wait_for(1);
  queue.add("b", 1);
  queue.add("c", 1);
  queue.add("b", 2);
  EXPECT_TRUE(queue.update("b", 3));
  EXPECT_FALSE(queue.update("d", 1));
  worker.hold(false);
  EXPECT_THAT(worker.wait_for(3), ElementsAre("a1", "b3", "c1"));
}

TEST(KeyedQueue, WhatIsNotedDuringItsWorkIsWorkedOnAgain) {
  Worker worker;
  worker.hold(true);
  Queue queue({.most = 10}, always, worker.function());
  queue.add("a", 1);
  worker.wait_for(1);
  queue.add("a", 2);
  worker.hold(false);
  EXPECT_THAT(worker.wait_for(2), ElementsAre("a1", "a2"));
}

TEST(KeyedQueue, TriesAgainAfterAFailureUnlessItIsForGood) {
  Worker worker;
  worker.answer = [](std::size_t count) {
    if (count < 3) return Worked::kAgain;
    return count == 3 ? Worked::kFailed : Worked::kDone;
  };
  Queue queue({.most = 10, .first_pause = 1ms, .longest_pause = 1ms}, always, worker.function());
  queue.add("a", 1);
  EXPECT_THAT(worker.wait_for(3), ElementsAre("a1", "a1", "a1"));
  queue.add("b", 1, 5ms);
  EXPECT_THAT(worker.wait_for(4), ElementsAre("a1", "a1", "a1", "b1"));
}

TEST(KeyedQueue, DoesNothingWhileAnotherReplicaLeads) {
  Worker worker;
  std::atomic<bool> leads = false;
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0;
  Queue queue(
      {.most = 10, .first_pause = 1ms},
      [&] {
        const std::lock_guard lock(mutex);
        ++asked;
        changed.notify_all();
        return leads.load();
      },
      worker.function());
  queue.add("a", 1);
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, 10s, [&] { return asked >= 3; }));
  }
  EXPECT_THAT(worker.wait_for(0), ElementsAre());
  leads = true;
  EXPECT_THAT(worker.wait_for(1), ElementsAre("a1"));
}

TEST(KeyedQueue, RestsAfterEachPieceOfWorkOnAKey) {
  Worker worker;
  Queue queue({.most = 10, .rest = 1h}, always, worker.function());
  queue.add("a", 1);
  worker.wait_for(1);
  queue.add("a", 2);
  queue.add("b", 1);
  EXPECT_THAT(worker.wait_for(2), ElementsAre("a1", "b1"));
}

TEST(KeyedQueue, ForgetsWhatIsErasedAndTakesNoMoreThanItMay) {
  Worker worker;
  Queue queue({.most = 1}, always, worker.function());
  EXPECT_TRUE(queue.add("a", 1, 1h));
  EXPECT_FALSE(queue.add("b", 1));
  EXPECT_TRUE(queue.add("a", 2));
  queue.erase("a");
  queue.erase("a");
  EXPECT_TRUE(queue.add("b", 2));
  EXPECT_THAT(worker.wait_for(1), ElementsAre("b2"));
}

TEST(KeyedQueue, ErasedAndNotedAnewDuringItsWorkItIsWorkedOnAgain) {
  Worker worker;
  worker.hold(true);
  Queue queue({.most = 10}, always, worker.function());
  queue.add("a", 1);
  worker.wait_for(1);
  queue.erase("a");
  queue.add("a", 2);
  worker.hold(false);
  EXPECT_THAT(worker.wait_for(2), ElementsAre("a1", "a2"));
}

TEST(KeyedQueue, AGroupKeepsNoMoreThreadsThanItMay) {
  Worker worker;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  KeyedQueue<std::string, int> queue({.most = 10,
                                      .threads = 4,
                                      .group_of = [](int value) { return std::to_string(value); },
                                      .most_of_group = 2},
                                     always, [&](const std::string& key, int value) {
                                       const Worked worked = worker.work(key, value);
                                       if (value == 1) ended.wait();
                                       return worked;
                                     });
  for (const char* key : {"a", "b", "c", "d"}) queue.add(key, 1);
  worker.wait_for(2);
  queue.add("z", 2);
  EXPECT_EQ(worker.wait_for(3).back(), "z2") << "two threads are left for others";
  queue.erase("c");
  end.set_value();
  EXPECT_EQ(worker.wait_for(4).back(), "d1") << "and the rest of the group comes later";
}

TEST(KeyedQueue, GroupsTakeTurns) {
  Worker worker;
  std::counting_semaphore<> may_end(0);
  KeyedQueue<std::string, int> queue({.most = 20,
                                      .most_of_one_group = 4,
                                      .threads = 2,
                                      .group_of = [](int value) { return std::to_string(value); },
                                      .most_of_group = 1},
                                     always, [&](const std::string& key, int value) {
                                       const Worked worked = worker.work(key, value);
                                       may_end.acquire();
                                       return worked;
                                     });
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_TRUE(queue.add(key, 1));
  EXPECT_FALSE(queue.add("e", 1)) << "they are too many of one group";
  for (const char* key : {"k", "l", "m"}) EXPECT_TRUE(queue.add(key, 2));
  worker.wait_for(2);
  queue.add("z", 3);
  may_end.release();
  EXPECT_EQ(worker.wait_for(3).back(), "z3") << "those before it had their turn";
  may_end.release(20);
  worker.wait_for(8);
}

// Whatever was noted and erased before, by whom it was worked on meanwhile.
TEST(KeyedQueue, WhatIsNotedLastIsWorkedOn) {
  constexpr int kKeys = 12;
  constexpr int kLast = 1'000'000;
  std::mutex mutex;
  std::set<int> done;
  KeyedQueue<int, int> queue(
      {.most = 100,
       .first_pause = 1ms,
       .longest_pause = 1ms,
       .threads = 4,
       .group_of = [](int value) { return std::to_string(value % 3); },
       .most_of_group = 2},
      always, [&](int key, int value) {
        const std::lock_guard lock(mutex);
        if (value >= kLast) done.insert(key);
        return value % 5 == 0 ? Worked::kAgain : value % 5 == 1 ? Worked::kFailed : Worked::kDone;
      });
  std::mt19937 random(5);
  const auto roll = [&](unsigned below) { return static_cast<int>(random() % below); };
  for (int step = 0; step < 3000; ++step) {
    const int key = roll(kKeys);
    if (roll(3) == 0) {
      queue.erase(key);
    } else {
      queue.add(key, 3 * roll(100) + key % 3, std::chrono::milliseconds(roll(2)));
    }
  }
  for (int key = 0; key < kKeys; ++key) queue.add(key, kLast + key);
  const auto all = [&] {
    const std::lock_guard lock(mutex);
    return done.size() == kKeys;
  };
  EXPECT_TRUE(eventually([&] { return all(); }));
}

// One that was erased and noted anew while it was worked on.
TEST(KeyedQueue, TheEndOfOldWorkDoesNotStartMore) {
  std::array<std::promise<void>, 2> ends;
  std::atomic<int> begun = 0;
  std::promise<void> later;
  Queue queue({.most = 10, .first_pause = 1ms, .threads = 3}, always,
              [&](const std::string& key, int) {
                if (key == "z") {
                  later.set_value();
                  return Worked::kDone;
                }
                const int number = begun++;
                if (number < 2) ends.at(static_cast<std::size_t>(number)).get_future().wait();
                return number == 0 ? Worked::kAgain : Worked::kDone;
              });
  queue.add("a", 1);
  EXPECT_TRUE(eventually([&] { return begun >= 1; }));
  queue.erase("a");
  queue.add("a", 2);
  EXPECT_TRUE(eventually([&] { return begun >= 2; }));
  ends[0].set_value();
  queue.add("z", 1, 50ms);  // after what the first end could have noted
  later.get_future().wait();
  EXPECT_EQ(begun, 2);
  ends[1].set_value();
}

}  // namespace
}  // namespace pinion::cluster
