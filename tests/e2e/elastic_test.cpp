// Elastic Jobs with the real Job controller, scheduler and API server: they start, make room and
// grow.
#include <chrono>
#include <thread>

#include "tests/e2e/elastic_scene.h"

namespace pinion::e2e {
namespace {

TEST_F(Elastic, AJobStartsWideMakesRoomAndGrowsBack) {
  start_elastic(2);  // four NUMA nodes of 16 CPUs
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(1, 4)});
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  const auto wide = places_of("low", 4);
  const std::map<int, std::string> first = {{0, wide.at(0)}, {1, wide.at(1)}};
  add_job(
      {.name = "high", .cpus = 15, .workers = 2, .suspended = true, .annotations = sizes(2, 2, 9)});
  EXPECT_TRUE(runs_with("high", 2)) << job("high");
  EXPECT_TRUE(runs_with("low", 2)) << job("low");
  EXPECT_EQ(places_of("low", 2), first);
  remove_job("high");
  EXPECT_TRUE(runs_with("low", 4)) << job("low");
  const auto again = places_of("low", 4);
  EXPECT_EQ((std::map<int, std::string>{{0, again.at(0)}, {1, again.at(1)}}), first);
  EXPECT_GT(extender().figure("pinion_extender_elastic_steps_total{step=\"expand\"}"), 0);
  remove_job("low");
}

TEST_F(Elastic, WorkersThatStayKeepTheirCpusAndThoseOfTheOthersAreFree) {
  start_elastic(2);
  const int all = free_cpus();
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(1, 4)});
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  const auto wide = places_of("low", 4);
  EXPECT_TRUE(has_free(all - 4 * 15));
  wish("low", "2");
  ASSERT_TRUE(runs_with("low", 2)) << job("low");
  const auto narrow = places_of("low", 2);
  EXPECT_EQ(narrow, (std::map<int, std::string>{{0, wide.at(0)}, {1, wide.at(1)}}));
  EXPECT_TRUE(has_free(all - 2 * 15)) << "those of 2 and 3 are";
  wish("low", nullptr);
  ASSERT_TRUE(runs_with("low", 4)) << job("low");
  auto again = places_of("low", 4);
  EXPECT_TRUE(has_free(all - 4 * 15));
  again.erase(2);
  again.erase(3);
  EXPECT_EQ(again, narrow);
  remove_job("low");
}

// Of a job that is no faster with more.
TEST_F(Elastic, AWishForMoreIsMetUnderOursToo) {
  start_elastic(2, "ours");
  auto annotations = sizes(1, 4);
  annotations["pinion.dev/speed-up"] = "1:1 4:1";
  annotations["pinion.dev/requested-workers"] = "1";
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = annotations});
  ASSERT_TRUE(runs_with("low", 1)) << job("low");
  wish("low", "4");
  EXPECT_TRUE(runs_with("low", 4)) << job("low");
  EXPECT_EQ(places_of("low", 4).size(), 4U);
  remove_job("low");
}

// An application that does 50 in a second for each of its workers, and reports that on its job.
class Reporter {
 public:
  Reporter(Admin& admin, const std::string& name)
      : thread_([&admin, name](const std::stop_token& stop) {
          const std::string path = std::string(kJobs) + "/" + name;
          const auto begin = std::chrono::steady_clock::now();
          while (!stop.stop_requested()) {
            const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
            const json patch = {
                {"metadata",
                 {{"annotations",
                   {{"pinion.dev/progress", std::to_string(100 * since.count()) + "/1000000"}}}}}};
            (void)admin.api().patch(path, kube::PatchKind::kMerge, patch);
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
          }
        }) {}

 private:
  std::jthread thread_;
};

TEST_F(Elastic, WhatAnApplicationReportsIsKnownToTheNextLeader) {
  start_elastic(2);
  add_job({.name = "low", .cpus = 15, .workers = 1, .suspended = true, .annotations = sizes(2, 2)});
  ASSERT_TRUE(runs_with("low", 2)) << job("low");
  {
    const Reporter reporter(admin(), "low");
    ASSERT_TRUE(lab::eventually(lab::Milliseconds(2 * kPatience),
                                [&] { return speed_with("low", 2) > 0; }));
    EXPECT_NEAR(speed_with("low", 2), 100, 20);
    ASSERT_TRUE(ok(
        admin().api().patch(std::string(kJobs) + "/low", kube::PatchKind::kMerge,
                            {{"metadata", {{"annotations", {{"pinion.dev/max-workers", "3"}}}}}})));
    ASSERT_TRUE(runs_with("low", 3)) << job("low");
  }
  extender().kill();
  ASSERT_TRUE(ok(extender().restart()));
  EXPECT_TRUE(lab::eventually(lab::Milliseconds(kPatience), [&] {
    return speed_with("low", 2) > 0;
  })) << job("low");
  EXPECT_EQ(speed_with("low", 3), 0) << "nobody has measured it with three";
  remove_job("low");
}

}  // namespace
}  // namespace pinion::e2e
