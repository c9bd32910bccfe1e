#include "cluster/sim/figures.h"

#include "cluster/sim/pool.h"
#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

TEST(Figures, OfThreeJobsByHand) {
  // On 4 processors: 1 runs 0-100, 2 waits for it and runs 100-140, 3 runs 140-145.
  Pool pool(4, QueueRule::kFcfs);
  std::vector jobs{job_of(1, 0, 100, 4), job_of(2, 20, 40, 2), job_of(3, 30, 5, 4)};
  jobs[1].priority = 3;
  jobs[2].priority = 1;
  const Figures figures = play(jobs, pool).figures;
  EXPECT_EQ(figures.jobs, 3);
  EXPECT_DOUBLE_EQ(figures.makespan, 145);
  EXPECT_DOUBLE_EQ(figures.wait.mean, (80 + 110) / 3.0);
  EXPECT_DOUBLE_EQ(figures.response.mean, (100 + 120 + 115) / 3.0);
  EXPECT_DOUBLE_EQ(figures.response.weighted_mean, (3 * 120 + 115) / 4.0);
  EXPECT_NEAR(figures.wait.p99, 110, 0.004 * 110);
  // 3 ran 5 s, which counts as 10.
  EXPECT_DOUBLE_EQ(figures.slowdown, (1 + 120 / 40.0 + 115 / 10.0) / 3);
  EXPECT_DOUBLE_EQ(figures.utilisation, (400 + 80 + 20) / (4 * 145.0));
  EXPECT_LT(figures.fragmentation, 0);
}

TEST(Histogram, PercentilesAreCloseToExact) {
  Histogram histogram;
  for (Ms value = 1; value <= 1'000'000; ++value) histogram.add(value);
  for (const double share : {0.0001, 0.5, 0.95, 0.99, 1.0}) {
    EXPECT_NEAR(histogram.percentile(share), share * 1e6, share * 1e6 / 256 + 1) << share;
  }
  EXPECT_EQ(Histogram().percentile(0.5), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (Ms value = 0; value < 512; ++value) histogram.add(value);
  EXPECT_EQ(histogram.percentile(0.5), 255);
  EXPECT_EQ(histogram.percentile(1), 511);
}

}  // namespace
}  // namespace pinion::sim
