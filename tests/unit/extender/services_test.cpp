// HPC pods and services: which nodes they share, and which they prefer.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class ServicesTest : public PodSchedulerTest {
 protected:
  // Two nodes as in the others, under other settings.
  void begin(const SchedulerSettings& settings) {
    mixed_.emplace(policy::Defaults(), PodSchedulerLimits{.scheduler = settings});
    for (const char* name : {"a", "b"}) {
      ASSERT_TRUE(mixed_->report(report_of(name, machine_), 0));
      mixed_->node(
          {.name = name, .allocatable = {.milli_cpus = 8000, .memory = 1 << 30, .members = 100}},
          now_);
    }
  }
  // Without CPUs of its own.
  static Pod shared_service(const std::string& uid, std::int64_t milli) {
    Pod pod = pod_of(uid, 1, {{"class", "service"}});
    pod.qos = policy::Qos::kBurstable;
    pod.requests = {.milli_cpus = milli, .memory = 1, .members = 1};
    return pod;
  }
  static Pod job_pod(const std::string& uid, int cpus) {
    Pod pod = pod_of(uid, cpus);
    pod.requests = {.milli_cpus = 1000 * cpus, .memory = 1, .members = 1};
    return pod;
  }
  void runs(Pod pod, const std::string& node) {
    pod.node = node;
    ASSERT_TRUE(mixed_->seen(pod, now_));
  }
  std::string passed(const Pod& pod) {
    answer_ = mixed_->filter(pod, {"a", "b"}, now_);
    std::string nodes;
    if (answer_.verdict[0] == 0) nodes += "a";
    if (answer_.verdict[1] == 0) nodes += "b";
    return nodes;
  }
  std::vector<int> scores(const Pod& pod) { return mixed_->scores(pod, {"a", "b"}); }

  std::optional<PodScheduler> mixed_;
};

TEST_F(ServicesTest, ByDefaultAServiceIsTheSchedulersBusinessButForItsScores) {
  begin({});
  runs(job_pod("j", 5), "a");
  EXPECT_EQ(passed(shared_service("s", 500)), "ab");
  EXPECT_FALSE(answer_.ours);
  const auto fill = scores(shared_service("s", 500));
  EXPECT_GT(fill[0], fill[1]) << "it fills what the job leaves";
  Pod other = shared_service("o", 500);
  other.annotations.clear();
  EXPECT_EQ(scores(other), (std::vector<int>{0, 0})) << "of no class";
}

// Who has set nothing new, and states no class, sees what he saw before there were classes.
TEST_F(ServicesTest, WithoutAClassAndASettingForServicesScoresAreByHoles) {
  begin({.placement = PlacementPolicy::kLeastLoaded});
  runs(job_pod("j", 5), "a");
  Pod target = shared_service("t", 500);
  target.annotations = {{"pinion.dev/service-metric", "m"}};
  EXPECT_EQ(scores(target), (std::vector<int>{0, 0}));
  Pod whole = job_pod("w", 1);
  whole.annotations["pinion.dev/service-metric"] = "m";
  for (const Pod& pod : {whole, job_pod("k", 1)}) {
    EXPECT_EQ(passed(pod), "ab");
    const auto by_hole = scores(pod);
    EXPECT_GT(by_hole[0], by_hole[1]) << pod.uid << ": the tighter hole";
  }
  begin({.service_placement = PlacementPolicy::kFill});
  runs(job_pod("j", 5), "a");
  const auto fill = scores(target);
  EXPECT_GT(fill[0], fill[1]) << "a setting is heeded by all services";
}

TEST_F(ServicesTest, LeastAndMostLoadedForEachClass) {
  begin({.placement = PlacementPolicy::kLeastLoaded,
         .service_placement = PlacementPolicy::kMostLoaded});
  runs(job_pod("j", 3), "a");
  const auto service = scores(shared_service("s", 500));
  EXPECT_GT(service[0], service[1]);
  Pod job = job_pod("k", 1);
  job.annotations["pinion.dev/class"] = "hpc";
  EXPECT_EQ(passed(job), "ab");
  const auto hpc = scores(job);
  EXPECT_LT(hpc[0], hpc[1]);
  Pod own = job_pod("own", 1);
  own.annotations["pinion.dev/class"] = "hpc";
  own.annotations["pinion.dev/placement"] = "most-loaded";
  EXPECT_EQ(passed(own), "ab");
  EXPECT_GT(scores(own)[0], scores(own)[1]) << "a pod's own word counts";
}

TEST_F(ServicesTest, DedicatedNodesKeepServicesFromJobsAndJobsFromServices) {
  begin({.colocation = {.services_beside = false}});
  runs(job_pod("j", 2), "a");
  EXPECT_EQ(passed(shared_service("s", 500)), "b");
  EXPECT_TRUE(answer_.ours);
  EXPECT_EQ(text_for(0),
            "an HPC job is on the node, and services go to others "
            "(servicesBesideJobs)");
  Pod whole = job_pod("w", 1);
  whole.annotations["pinion.dev/class"] = "service";
  EXPECT_EQ(passed(whole), "b");
  EXPECT_EQ(passed(job_pod("k", 2)), "ab");
  runs(shared_service("s", 500), "b");
  EXPECT_EQ(passed(job_pod("k", 2)), "a");
  EXPECT_EQ(text_for(1),
            "services are on the node, and HPC jobs go to others "
            "(servicesBesideJobs)");
  EXPECT_TRUE(answer_.texts[answer_.verdict[1] - 1U].hopeless) << "nobody is to be evicted there";
  // A pod of no class may be anywhere, and keeps nobody away.
  Pod other = shared_service("o", 500);
  other.annotations.clear();
  EXPECT_EQ(passed(other), "ab");
  mixed_->gone("s", now_);
  runs(other, "b");
  EXPECT_EQ(passed(job_pod("k", 2)), "ab");
  mixed_->gone("j", now_);
  EXPECT_EQ(passed(shared_service("t", 500)), "ab");
}

TEST_F(ServicesTest, WhereNoNodeIsLeftTheServiceIsToldWhy) {
  begin({.colocation = {.services_beside = false}});
  runs(job_pod("j", 2), "a");
  runs(job_pod("k", 2), "b");
  EXPECT_EQ(passed(shared_service("s", 500)), "");
  EXPECT_NE(answer_.why.find("services go to others"), std::string::npos) << answer_.why;
}

TEST_F(ServicesTest, AGangIsPlannedBesideNoOtherWhereJobsDoNotShare) {
  begin({.colocation = {.jobs_share = false}});
  runs(job_pod("lone", 1), "a");
  for (int i = 0; i < 2; ++i) mixed_->seen(member_of("j", i, 2, 3), now_);
  EXPECT_EQ(passed(member_of("j", 0, 2, 3)), "b");
  EXPECT_EQ(passed(member_of("j", 1, 2, 3)), "b");
  EXPECT_EQ(passed(job_pod("k", 1)), "") << "the gang has its place on b";
  EXPECT_EQ(text_for(1),
            "another HPC job is on the node, and such jobs do not share nodes "
            "(jobsShareNodes)");
}

TEST_F(ServicesTest, AtMostOneMemberOfAGangOnANode) {
  begin({.colocation = {.apart = true}});
  for (int i = 0; i < 2; ++i) mixed_->seen(member_of("j", i, 2, 1), now_);
  const std::string first = passed(member_of("j", 0, 2, 1));
  const std::string second = passed(member_of("j", 1, 2, 1));
  EXPECT_EQ(first.size() + second.size(), 2U);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace pinion::cluster
