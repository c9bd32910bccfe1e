// The papers' jobs, as --generate has them.
#include "cluster/sim/paper_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cluster/sim/jobs_file.h"

namespace pinion::sim {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

std::vector<Job> jobs_of(PaperMix mix, std::uint64_t seed = 1, std::optional<Ms> gap = {}) {
  auto jobs = paper_jobs(mix, seed, gap);
  EXPECT_TRUE(jobs) << jobs.error().text;
  return jobs ? *jobs : std::vector<Job>();
}

// All that may differ.
std::vector<std::tuple<std::string, Ms, Ms, int, int>> summary(const std::vector<Job>& jobs) {
  std::vector<std::tuple<std::string, Ms, Ms, int, int>> lines;
  for (const Job& job : jobs) {
    lines.emplace_back(job.called(), job.submit, job.run, job.shape.tasks, job.priority);
  }
  return lines;
}

TEST(PaperMix, TheFineGrainedPapersFirstExperimentIsTenDgemmJobs) {
  const auto jobs = jobs_of(PaperMix::kFineGrained1);
  ASSERT_EQ(jobs.size(), 10U);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(jobs[i].kind, "dgemm");
    EXPECT_EQ(jobs[i].submit, 60'000 * static_cast<Ms>(i));
    EXPECT_EQ(jobs[i].shape.tasks, 16);
  }
}

TEST(PaperMix, TheFineGrainedPapersSecondIsTwentyOfFivePrograms) {
  const auto jobs = jobs_of(PaperMix::kFineGrained2);
  std::map<std::pair<std::string, topology::Profile>, int> programs;
  for (const Job& job : jobs) ++programs[{job.kind, job.shape.profile}];
  EXPECT_EQ(programs, (std::map<std::pair<std::string, topology::Profile>, int>{
                          {{"dgemm", topology::Profile::kCpu}, 4},
                          {{"stream", topology::Profile::kMemory}, 4},
                          {{"minife", topology::Profile::kCpu}, 4},
                          {{"fft", topology::Profile::kNetwork}, 4},
                          {{"rr", topology::Profile::kNetwork}, 4}}));
  EXPECT_EQ(jobs.front().called(), "RR-B_2");
  EXPECT_EQ(jobs.back().submit, 1'167'000);
  EXPECT_EQ(summary(jobs), summary(jobs_of(PaperMix::kFineGrained2, 2))) << "nothing is drawn";
}

TEST(PaperMix, TheSameTwentyComeAtRandomWithinTwentyMinutes) {
  std::vector<std::string> names;
  for (const Job& job : jobs_of(PaperMix::kFineGrained2)) names.push_back(job.called());
  Ms first = 1'200'000;
  Ms last = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto jobs = jobs_of(PaperMix::kFineGrainedRandom, seed);
    EXPECT_TRUE(std::is_sorted(jobs.begin(), jobs.end(),
                               [](const Job& a, const Job& b) { return a.submit < b.submit; }));
    std::vector<std::string> drawn;
    for (const Job& job : jobs) drawn.push_back(job.called());
    EXPECT_THAT(drawn, testing::UnorderedElementsAreArray(names));
    first = std::min(first, jobs.front().submit);
    last = std::max(last, jobs.back().submit);
    EXPECT_EQ(summary(jobs), summary(jobs_of(PaperMix::kFineGrainedRandom, seed)));
    EXPECT_NE(summary(jobs), summary(jobs_of(PaperMix::kFineGrainedRandom, seed + 1)));
  }
  EXPECT_GE(first, 0);
  EXPECT_LE(first, 20'000);
  EXPECT_GE(last, 1'180'000);
  EXPECT_LE(last, 1'200'000);
}

// By the most workers of each size.
std::vector<std::pair<int, int>> sizes_and_priorities(const std::vector<Job>& jobs) {
  const std::map<int, int> size_of{{7, 0}, {15, 1}, {31, 2}, {59, 3}};
  std::vector<std::pair<int, int>> drawn;
  for (const Job& job : jobs) drawn.emplace_back(size_of.at(job.elastic->max), job.priority);
  return drawn;
}

// What `random.Random(42)` of Python gives by choice([0, 1, 2, 3]) and randint(1, 5), in turn.
TEST(PaperMix, TheElasticPapersRandomSetsAreThoseOfItsSimulator) {
  using Drawn = std::vector<std::pair<int, int>>;
  EXPECT_EQ(sizes_and_priorities(jobs_of(PaperMix::kElasticRandom, 1)), (Drawn{{0, 1},
                                                                               {2, 2},
                                                                               {1, 2},
                                                                               {0, 5},
                                                                               {0, 5},
                                                                               {3, 1},
                                                                               {0, 1},
                                                                               {1, 2},
                                                                               {0, 5},
                                                                               {1, 5},
                                                                               {3, 2},
                                                                               {3, 5},
                                                                               {2, 1},
                                                                               {1, 4},
                                                                               {2, 3},
                                                                               {1, 2}}));
  EXPECT_EQ(sizes_and_priorities(jobs_of(PaperMix::kElasticRandom, 100)), (Drawn{{1, 3},
                                                                                 {1, 2},
                                                                                 {2, 3},
                                                                                 {3, 2},
                                                                                 {0, 5},
                                                                                 {1, 3},
                                                                                 {3, 4},
                                                                                 {3, 1},
                                                                                 {0, 3},
                                                                                 {3, 2},
                                                                                 {3, 2},
                                                                                 {1, 5},
                                                                                 {0, 4},
                                                                                 {2, 4},
                                                                                 {3, 3},
                                                                                 {2, 4}}));
  EXPECT_EQ(jobs_of(PaperMix::kElasticRandom).back().submit, 15 * 180'000);
  EXPECT_EQ(jobs_of(PaperMix::kElasticRandom, 1, 30'000).back().submit, 15 * 30'000);
}

TEST(PaperMix, TheElasticPapersTableOneIsASetThatIsWrittenDown) {
  const auto latest = jobs_of(PaperMix::kElasticTable1);
  EXPECT_THAT(sizes_and_priorities(latest),
              ElementsAreArray(std::vector<std::pair<int, int>>{{2, 2},
                                                                {1, 3},
                                                                {1, 4},
                                                                {0, 4},
                                                                {3, 2},
                                                                {3, 1},
                                                                {0, 4},
                                                                {3, 1},
                                                                {1, 4},
                                                                {1, 3},
                                                                {0, 4},
                                                                {3, 1},
                                                                {0, 5},
                                                                {1, 3},
                                                                {1, 3},
                                                                {1, 3}}));
  EXPECT_EQ(latest.back().submit, 15 * 90'000);
  const auto earlier = sizes_and_priorities(jobs_of(PaperMix::kElasticTable1Earlier));
  EXPECT_THAT(std::vector(earlier.begin(), earlier.begin() + 3),
              ElementsAre(std::pair(2, 2), std::pair(3, 1), std::pair(2, 3)));
}

// As a human would write it down from the paper and its simulator.
TEST(PaperMix, ItsJobsAreThoseOfAFileWithItsNumbers) {
  const auto written = parse_jobs_file(
      "- {name: j0, min: 7, max: 31, launcher: 1, priority: 2, times: {7: 1960, 15: 1200, 31: 760},"
      " restart: 0.305214, restart-per-worker: 0.143006, rebalance: 0.181229}\n");
  ASSERT_TRUE(written) << written.error().text;
  const Job& file = written->at(0);
  const Job job = jobs_of(PaperMix::kElasticTable1).at(0);
  EXPECT_EQ(summary({job}), summary({file}));
  EXPECT_EQ(job.request, file.request);
  EXPECT_EQ(job.elastic->min, file.elastic->min);
  EXPECT_EQ(job.elastic->launcher, 1);
  EXPECT_EQ(job.elastic->gap, file.elastic->gap);
  for (const int workers : {7, 11, 15, 31}) {
    EXPECT_EQ(job.elastic->speed_up.rate(workers), file.elastic->speed_up.rate(workers));
    EXPECT_EQ(job.elastic->start_takes(workers), file.elastic->start_takes(workers));
    EXPECT_EQ(job.elastic->rescale_takes(workers), file.elastic->rescale_takes(workers));
  }
}

TEST(PaperMix, ThatOfVirtualClustersHasItsSharesOfCpuTime) {
  std::map<int, double> work;
  double all = 0;
  int services = 0;
  const auto jobs = jobs_of(PaperMix::kVirtualClusters, 3);
  for (const Job& job : jobs) {
    if (job.service) {
      ++services;
      continue;
    }
    const double seconds = static_cast<double>(job.run) / 1000 * job.shape.tasks;
    work[job.shape.tasks] += seconds;
    all += seconds;
  }
  EXPECT_EQ(services, 15);
  EXPECT_EQ(work.size(), 4U);
  for (const auto& [threads, share] :
       std::map<int, double>{{16, 0.05}, {32, 0.20}, {64, 0.65}, {128, 0.10}}) {
    EXPECT_NEAR(work[threads] / all, share, 1e-4) << threads;
  }
  EXPECT_EQ(summary(jobs), summary(jobs_of(PaperMix::kVirtualClusters, 3)));
  EXPECT_NE(summary(jobs), summary(jobs_of(PaperMix::kVirtualClusters, 4)));
}

}  // namespace
}  // namespace pinion::sim
