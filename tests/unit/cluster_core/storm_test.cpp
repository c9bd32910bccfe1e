// Thirty jobs of different sizes meet a full cluster, and small ones come after them without end:
// when the largest starts, with room held for the first of the queue and without. Two nodes of the
// paper's: 64 CPUs.
#include <gtest/gtest.h>

#include <queue>

#include "cluster/core/scheduler.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

constexpr std::int64_t kMinute = 60'000;
constexpr int kJobs = 30;
constexpr int kLargest = 30;  // workers of two CPUs: 60 of the 64 that there are

class Storm {
 public:
  // Four jobs have all CPUs, and end one every five minutes. None says how long it runs.
  explicit Storm(std::int64_t head_after_ms, std::int64_t head_ms = kNeverDue)
      : core_({.keep_ms = kNeverDue,
               .confirm_ms = kNeverDue,
               .head_after_ms = head_after_ms,
               .head_ms = head_ms}) {
    for (const char* node : {"a", "b"}) {
      EXPECT_TRUE(core_.report(report_of(node, paper_machine(), kPaperReserved), 0));
    }
    for (int i = 1; i <= 4; ++i) submit("first-" + std::to_string(i), 8, 5 * i * kMinute);
    start_all();
    EXPECT_EQ(started_, 4);
    // The largest comes first.
    submit("largest", kLargest, kMinute);
    for (int i = 1; i < kJobs; ++i) submit_small("job-" + std::to_string(i), i);
  }

  // Until the largest has started, or so many others have before it.
  void run(bool endless, int most) {
    while (!largest_started() && started_ < most) {
      const std::int64_t end_ms = ends_.empty() ? kNeverDue : ends_.top().first;
      const std::int64_t due_ms = core_.next_ms().value_or(kNeverDue);
      now_ms_ = std::max(now_ms_, std::min(end_ms, due_ms));
      ASSERT_LT(now_ms_, kNeverDue) << "nobody runs, and nothing is due";
      if (now_ms_ == end_ms) {
        core_.end(ends_.top().second, now_ms_);
        ends_.pop();
        if (endless) {
          const int number = next_++;
          submit_small("later-" + std::to_string(number), number);
        }
      }
      start_all();
    }
  }

  [[nodiscard]] bool largest_started() const { return rank_ > 0; }
  // Of those that were not there from the beginning.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }

 private:
  void submit(const JobId& id, int workers, std::int64_t run_ms) {
    JobSpec spec;
    spec.owner = {.name_space = "n", .kind = "Job", .name = id};
    spec.size = workers;
    core_.submit(id, std::move(spec), now_ms_);
    for (int worker = 0; worker < workers; ++worker) {
      const MemberId member = id + "/" + std::to_string(worker);
      core_.join(id, member, {request_of(member, 2)}, now_ms_);
    }
    runs_[id] = run_ms;
  }

  void submit_small(const JobId& id, int number) {
    submit(id, 1 + number % 8, (2 + number % 7) * kMinute);
  }

  void start_all() {
    core_.tick(now_ms_);
    core_.run(now_ms_);
    for (const JobNews& news : core_.take_news()) {
      if (news.kind != JobNews::Kind::kReserved) continue;
      for (const auto& [id, member] : core_.book().find(news.job)->members) {
        core_.start(id, now_ms_);
        core_.started(id, true, now_ms_);
      }
      ends_.emplace(now_ms_ + runs_.at(news.job), news.job);
      ++started_;
      if (news.job == "largest") rank_ = started_ - 4;
    }
  }

  using End = std::pair<std::int64_t, JobId>;

  Scheduler core_;
  std::int64_t now_ms_ = 0;
  std::map<JobId, std::int64_t> runs_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  int started_ = 0;
  int rank_ = 0;
  int next_ = 0;
};

TEST(StormOfJobs, WithoutRoomHeldForItTheLargestOfThirtyIsAmongTheLast) {
  Storm storm(kNeverDue);
  storm.run(false, 4 + kJobs);
  EXPECT_TRUE(storm.largest_started());
  EXPECT_GE(storm.rank(), kJobs - 2);
}

TEST(StormOfJobs, WithoutRoomHeldForItTheLargestStarvesWhereOthersComeWithoutEnd) {
  Storm storm(kNeverDue);
  storm.run(true, 3000);
  EXPECT_FALSE(storm.largest_started());
}

// What is given back is held from the second minute on: four CPUs at most are left for the others,
// which is room for jobs of one or two workers.
TEST(StormOfJobs, WithRoomHeldForItTheLargestStartsWhenTheFirstHaveEnded) {
  for (const bool endless : {false, true}) {
    Storm storm(kMinute);
    storm.run(endless, 3000);
    EXPECT_TRUE(storm.largest_started());
    EXPECT_LE(storm.rank(), 12);
    EXPECT_EQ(storm.now_ms(), 20 * kMinute);
  }
}

// What comes free while room is held goes to others again in their turn; but room is held for
// longer and longer.
TEST(StormOfJobs, TheLargestStartsAlsoWhereOthersRunForLongerThanRoomIsHeld) {
  Storm storm(kMinute, kMinute);
  storm.run(true, 3000);
  EXPECT_TRUE(storm.largest_started());
  EXPECT_LE(storm.rank(), 200);
}

}  // namespace
}  // namespace pinion::cluster
