// Queue rules on cases computed by hand.
#include "cluster/sim/pool.h"

#include <gmock/gmock.h>

#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

using Times = std::map<std::int64_t, std::pair<int, int>>;

Times times_of(QueueRule rule, std::int64_t processors, std::vector<Job> jobs) {
  Pool pool(processors, rule);
  return play(std::move(jobs), pool).times;
}

TEST(Pool, FcfsLetsNobodyGoPast) {
  // 2 does not fit beside 1; 3 would, and waits.
  const std::vector jobs{job_of(1, 0, 100, 6), job_of(2, 1, 10, 8), job_of(3, 2, 10, 2)};
  EXPECT_EQ(times_of(QueueRule::kFcfs, 10, jobs),
            (Times{{1, {0, 100}}, {2, {100, 110}}, {3, {100, 110}}}));
}

TEST(Pool, EasyStartsWhoEndsBeforeTheReservation) {
  // The reservation of 2 is at 100 with 2 spare; 3 takes 4 and ends at 100 sharp, 4 would end
  // later.
  const std::vector jobs{job_of(1, 0, 100, 6), job_of(2, 1, 10, 8), job_of(3, 2, 98, 4),
                         job_of(4, 2, 99, 4)};
  EXPECT_EQ(times_of(QueueRule::kEasy, 10, jobs),
            (Times{{1, {0, 100}}, {2, {100, 110}}, {3, {2, 100}}, {4, {110, 209}}}));
}

TEST(Pool, EasyStartsWhoTakesOnlyWhatStaysSpare) {
  // 2 leaves 2 of 10 spare at 100: 3 takes one of them, 4 the other, and nothing is left for 5.
  const std::vector jobs{job_of(1, 0, 100, 6), job_of(2, 1, 10, 8), job_of(3, 2, 500, 1),
                         job_of(4, 2, 500, 1), job_of(5, 2, 500, 1)};
  EXPECT_EQ(times_of(QueueRule::kEasy, 10, jobs),
            (Times{{1, {0, 100}}, {2, {100, 110}}, {3, {2, 502}}, {4, {2, 502}}, {5, {110, 610}}}));
}

TEST(Pool, EasyReservesByRequestsAndGoesByTheRealEnds) {
  // 1 asked for 200 and ends at 50: 3, which would pass the real end, goes past all the same.
  const std::vector jobs{job_of(1, 0, 50, 6, 200), job_of(2, 1, 10, 8), job_of(3, 2, 150, 4)};
  EXPECT_EQ(times_of(QueueRule::kEasy, 10, jobs),
            (Times{{1, {0, 50}}, {2, {152, 162}}, {3, {2, 152}}}));
}

TEST(Pool, EasyCountsAllWhoEndAtTheMomentOfTheReservation) {
  // 1 and 2 both end at 100. Of 10 then free 3 takes 5, so 4 may take 5 for long.
  const std::vector jobs{job_of(1, 0, 100, 4), job_of(2, 0, 100, 1), job_of(3, 1, 10, 6),
                         job_of(4, 2, 900, 4)};
  EXPECT_EQ(times_of(QueueRule::kEasy, 10, jobs),
            (Times{{1, {0, 100}}, {2, {0, 100}}, {3, {100, 110}}, {4, {2, 902}}}));
}

TEST(Pool, EndsComeBeforeSubmissionsAndTiesGoByNumber) {
  // At 10 the first has ended before 7 and 3 are there; 3 goes first though it came second.
  const std::vector jobs{job_of(1, 0, 10, 10), job_of(7, 10, 5, 10), job_of(3, 10, 5, 10)};
  EXPECT_EQ(times_of(QueueRule::kFcfs, 10, jobs),
            (Times{{1, {0, 10}}, {3, {10, 15}}, {7, {15, 20}}}));
}

TEST(Pool, PriorityGoesBeforeSubmission) {
  std::vector jobs{job_of(1, 0, 10, 10), job_of(2, 1, 10, 10), job_of(3, 2, 10, 10)};
  jobs[2].priority = 5;
  const Times urgent{{1, {0, 10}}, {2, {20, 30}}, {3, {10, 20}}};
  EXPECT_EQ(times_of(QueueRule::kPriority, 10, jobs), urgent);
  EXPECT_EQ(times_of(QueueRule::kOurs, 10, jobs), urgent);
  EXPECT_EQ(times_of(QueueRule::kEasy, 10, jobs),
            (Times{{1, {0, 10}}, {2, {10, 20}}, {3, {20, 30}}}));
}

TEST(Pool, ShortestPassesWhoWouldBeOverLater) {
  // While 1 runs, 3 passes 2, which would be over at 51; 4, which came later than that, does not.
  const std::vector jobs{job_of(1, 0, 100, 10), job_of(2, 1, 50, 10), job_of(3, 2, 10, 10),
                         job_of(4, 60, 1, 10), job_of(5, 60, 40, 5)};
  EXPECT_EQ(
      times_of(QueueRule::kShortest, 10, jobs),
      (Times{{1, {0, 100}}, {2, {110, 160}}, {3, {100, 110}}, {4, {160, 161}}, {5, {161, 201}}}));
}

TEST(Pool, FairGoesByWhoHasFewest) {
  // At 10 ada has 5 processors and bob none: bob's job is first though ada's came before.
  std::vector jobs{job_of(1, 0, 50, 5), job_of(2, 0, 10, 5), job_of(3, 1, 10, 5),
                   job_of(4, 2, 10, 5)};
  jobs[0].user = jobs[2].user = "ada";
  jobs[1].user = jobs[3].user = "bob";
  EXPECT_EQ(times_of(QueueRule::kFair, 10, jobs),
            (Times{{1, {0, 50}}, {2, {0, 10}}, {3, {20, 30}}, {4, {10, 20}}}));
}

TEST(Pool, LeavesOutWhoIsLargerThanAll) {
  Pool pool(10, QueueRule::kFcfs);
  const Played played = play({job_of(1, 0, 10, 11), job_of(2, 50, 10, 10)}, pool);
  EXPECT_EQ(played.times, (Times{{2, {50, 60}}}));
  EXPECT_EQ(played.figures.makespan, 10) << "of those that ran";
  EXPECT_EQ(played.refused.at(1), "needs 11 processors, there are 10");
  EXPECT_EQ(played.figures.refused, 1);
}

TEST(Pool, AJobOfNoTimeEndsWhenItStarts) {
  EXPECT_EQ(times_of(QueueRule::kEasy, 2, {job_of(1, 5, 0, 2), job_of(2, 5, 3, 2)}),
            (Times{{1, {5, 5}}, {2, {5, 8}}}));
}

}  // namespace
}  // namespace pinion::sim
