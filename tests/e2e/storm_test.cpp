// Small jobs that come without end to a full cluster, and a large one among them: what is held for
// it, and who may have that meanwhile.
// $PINION_E2E_ARRIVALS: how many come after it.
#include <gtest/gtest.h>

#include <deque>

#include "tests/e2e/crowd.h"

namespace pinion::e2e {
namespace {

class Storm : public Scene {
 protected:
  static constexpr std::size_t kAtOnce = 8;  // small pods that two nodes of 2 x 16 CPUs hold

  // How many small pods came before the large job ran; as many as come at all: it never did. After
  // each of them somebody takes the room within `patience`; where it is kept for the large job
  // nobody does.
  int arrivals_before_the_large_job(const std::string& reserve_after,
                                    std::chrono::milliseconds patience) {
    start(2, {.extender = {}, .max_backoff = std::chrono::seconds(1)},
          {"--reserve-after", reserve_after});
    for (std::size_t i = 0; i < 2 * kAtOnce; ++i) add_small();
    EXPECT_TRUE(nodes().wait([&] { return running().size() == kAtOnce; }));
    add(large_);
    const int most = number_from("PINION_E2E_ARRIVALS", 60);
    for (int arrivals = 0; arrivals < most; ++arrivals) {
      if (large_runs()) return arrivals;
      end_oldest();
      add_small();
      (void)lab::eventually(patience, [&] { return running().size() == kAtOnce || large_runs(); });
    }
    return large_runs() ? most - 1 : most;
  }

  [[nodiscard]] bool large_runs() {
    const auto held = nodes().held();
    return held.contains(large_.job + "-0") && held.contains(large_.job + "-1");
  }
  // Nobody waits for room any more.
  void end_all() {
    remove(names(large_));
    while (!small_.empty()) {
      remove({small_.front()});
      small_.pop_front();
    }
  }

 private:
  void add_small() {
    small_.push_back("small-" + std::to_string(next_++));
    add(PodShape{.name = small_.back(), .milli_cpus = 7000});
  }
  std::vector<std::string> running() {
    const auto held = nodes().held();
    std::vector<std::string> result;
    for (const std::string& name : small_) {
      if (held.contains(name)) result.push_back(name);
    }
    return result;
  }
  void end_oldest() {
    const auto run = running();
    if (run.empty()) return;
    remove({run.front()});
    std::erase(small_, run.front());
  }

  const Gang large_{.job = "large", .size = 2, .cpus = 16, .gates = true};
  std::deque<std::string> small_;  // that exist, oldest first
  int next_ = 0;
};

TEST_F(Storm, TheLargeJobStartsOnceRoomIsKeptForIt) {
  const int arrivals = arrivals_before_the_large_job("1s", std::chrono::milliseconds(500));
  EXPECT_TRUE(large_runs());
  RecordProperty("arrivals", arrivals);
  end_all();
}

// So the test above says something.
TEST_F(Storm, WithoutThatItStarves) {
  arrivals_before_the_large_job("1440m", kPatience);
  EXPECT_FALSE(large_runs());
  end_all();
}

class Deadlines : public Scene {};

TEST_F(Deadlines, WhoIsOverInTimeMayHaveWhatIsHeldForTheLargeJob) {
  start(1, {.extender = {}, .max_backoff = std::chrono::seconds(1)}, {"--reserve-after", "0"});
  add(PodShape{.name = "runs", .milli_cpus = 14'000, .deadline_s = 600});
  ASSERT_TRUE(run({"runs"}));
  const Gang large{.job = "large", .size = 2, .cpus = 14};  // one in each NUMA node
  add(large);
  ASSERT_TRUE(wait_in_vain(names(large)));
  add(PodShape{.name = "endless", .milli_cpus = 4000});
  add(PodShape{.name = "longer", .milli_cpus = 4000, .deadline_s = 6000});
  ASSERT_TRUE(wait_in_vain({"endless", "longer"}));
  add(PodShape{.name = "short", .milli_cpus = 4000, .deadline_s = 60});
  ASSERT_TRUE(run({"short"}));
  EXPECT_EQ(bound({"endless", "longer"}), 0);
  remove({"runs", "short"});
  ASSERT_TRUE(run(names(large)));
  // Deleted by force before the extender has heard of their cores, they would still be there for a
  // moment when it gives these to others.
  ASSERT_TRUE(lab::eventually(
      kPatience, [this] { return extender().figure("pinion_extender_promises") == 0; }));
  remove(names(large));
  EXPECT_TRUE(run({"endless", "longer"}));
}

}  // namespace
}  // namespace pinion::e2e
