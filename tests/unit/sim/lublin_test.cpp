#include "cluster/sim/lublin.h"

#include <cmath>

#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

std::vector<Job> draw(const LublinSettings& settings) {
  Lublin model(settings);
  std::vector<Job> jobs;
  for (auto job = model.next(); *job; job = model.next()) jobs.push_back(**job);
  return jobs;
}

TEST(Lublin, SizesFollowTheModel) {
  const auto jobs = draw({.jobs = 50'000, .largest = 128, .seed = 3});
  ASSERT_EQ(jobs.size(), 50'000U);
  double serial = 0;
  double powers = 0;
  for (const Job& job : jobs) {
    ASSERT_GE(job.shape.tasks, 1);
    ASSERT_LE(job.shape.tasks, 128);
    ASSERT_LE(job.run, 1000 * Ms{162'755});  // e^12 s
    serial += job.shape.tasks == 1 ? 1 : 0;
    powers += (job.shape.tasks & (job.shape.tasks - 1)) == 0 && job.shape.tasks > 1 ? 1 : 0;
  }
  // At least the stated shares; others are rounded to such sizes too.
  EXPECT_GT(serial / 50'000, 0.24);
  EXPECT_LT(serial / 50'000, 0.28);
  EXPECT_GT(powers / 50'000, 0.576);
}

TEST(Lublin, ArrivalsFollowTheDay) {
  const auto jobs = draw({.jobs = 50'000, .seed = 5});
  // The cycle begins at 5:30 with few and has its peak in the afternoon.
  std::array<int, 24> hours{};
  for (const Job& job : jobs) ++hours[static_cast<std::size_t>(job.submit / 3'600'000 % 24)];
  EXPECT_GT(hours[13], 3 * hours[5]);
}

TEST(Lublin, TheLoadIsThatOfTheJobsThatCome) {
  for (const std::int64_t count : {2, 20, 1000, 50'000}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto jobs = draw({.jobs = count,
                              .largest = 64,
                              .load = 0.5,
                              .processors = 256,
                              .overestimate = 3,
                              .seed = seed});
      double work = 0;
      for (const Job& job : jobs) work += static_cast<double>(job.run) * job.shape.tasks;
      const auto span = static_cast<double>(jobs.back().submit - jobs.front().submit);
      // Both ends are rounded to seconds.
      EXPECT_NEAR(work / 256 / 0.5, span, 1000) << count << " jobs, seed " << seed;
    }
  }
  EXPECT_EQ(draw({.jobs = 1, .load = 0.5}).size(), 1U);
}

TEST(Lublin, SameSeedSameJobs) {
  const auto a = draw({.jobs = 100, .overestimate = 3, .seed = 9});
  const auto b = draw({.jobs = 100, .overestimate = 3, .seed = 9});
  const auto c = draw({.jobs = 100, .overestimate = 3, .seed = 10});
  int differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].submit, b[i].submit);
    EXPECT_EQ(a[i].request, b[i].request);
    EXPECT_GE(a[i].request, a[i].run);
    differ += a[i].run != c[i].run ? 1 : 0;
  }
  EXPECT_GT(differ, 90);
}

}  // namespace
}  // namespace pinion::sim
