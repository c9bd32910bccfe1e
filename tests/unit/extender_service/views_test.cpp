// What people see of the pod scheduler.
#include "cluster/extender/service/views.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cluster/extender/service/expose.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

Pod pod_of(const std::string& name, int cpus) {
  Pod pod;
  pod.uid = "uid-" + name;
  pod.name_space = "hpc";
  pod.name = name;
  pod.qos = policy::Qos::kGuaranteed;
  pod.containers = {{.name = "main", .milli_cpus = 1000 * cpus, .memory = 2 * kGiB}};
  return pod;
}

Pod member_of(const std::string& name, int cpus) {
  Pod pod = pod_of(name, cpus);
  pod.annotations = {{"pinion.dev/job", "job"}, {"pinion.dev/gang-size", "3"}};
  return pod;
}

// Two nodes with two NUMA nodes of 4 CPUs, CPU 0 reserved.
class ViewsTest : public testing::Test {
 protected:
  void SetUp() override {
    const MachinePtr machine =
        machine_of({.packages = 2, .cores_per_l3 = 4, .memory_per_node = 8 * kGiB});
    for (const char* name : {"b", "a"})
      ASSERT_TRUE(pod_scheduler_.report(report_of(name, machine), 1000));
  }

  void ask(const Pod& pod) { pod_scheduler_.filter(pod, {"a", "b"}, 2000); }

  PodScheduler pod_scheduler_{policy::Defaults(), {.scheduler = {.silent_ms = 30'000}}};
};

TEST_F(ViewsTest, NodesShowTheirHoles) {
  Pod pod = pod_of("p", 3);
  pod.annotations["pinion.dev/strength"] = "required";  // so its memory is promised
  ask(pod);
  ASSERT_EQ(pod_scheduler_.bind(pod.uid, "a", 1, 2000).kind, BindAnswer::Kind::kGo);
  pod_scheduler_.heard("b", 90'000);
  pod_scheduler_.tick(100'000);
  const json seen = json::parse(fleet_json(fleet_rows(pod_scheduler_), 100'000));
  ASSERT_EQ(seen.at("nodes").size(), 2U);
  const json& a = seen.at("nodes")[0];
  EXPECT_EQ(a.at("name"), "a");
  EXPECT_EQ(a.at("stale"), true);
  EXPECT_EQ(a.at("heardMsAgo"), 99'000);
  EXPECT_EQ(a.at("containers"), 1);
  EXPECT_EQ(a.at("largestInNuma"), 4);
  const json first = {{"id", 0},
                      {"cpus", 3},
                      {"freeCpus", 0},
                      {"memoryBytes", 8 * kGiB},
                      {"freeMemoryBytes", 6 * kGiB}};
  EXPECT_EQ(a.at("numa")[0], first) << "the tightest hole, without the reserved CPU";
  EXPECT_EQ(seen.at("nodes")[1].at("stale"), false);
}

TEST_F(ViewsTest, WhatIsFreeIsWhatCouldBeGivenAway) {
  EXPECT_EQ(scheduling_figures(pod_scheduler_).free_cpus, 14U) << "both nodes have one reserved";
  const MachinePtr machine = machine_of({.cores_per_l3 = 2, .memory_per_node = 8 * kGiB});
  ASSERT_TRUE(pod_scheduler_.report(report_of("c", machine, {}), 1000));
  EXPECT_EQ(scheduling_figures(pod_scheduler_).free_cpus, 15U) << "the last one of c stays shared";
  const Pod pod = pod_of("p", 1);
  pod_scheduler_.filter(pod, {"c"}, 2000);
  ASSERT_EQ(pod_scheduler_.bind(pod.uid, "c", 1, 2000).kind, BindAnswer::Kind::kGo);
  EXPECT_EQ(scheduling_figures(pod_scheduler_).free_cpus, 14U);
}

TEST_F(ViewsTest, GangsThatWaitAtTheirGatesShowWhy) {
  for (const char* name : {"m0", "m1"}) {
    Pod pod = member_of(name, 4);
    pod.gang_gate = true;
    pod_scheduler_.seen(pod, 2000);
  }
  const json seen = json::parse(jobs_json(job_rows(pod_scheduler_), 5000));
  const json gang = {{"name", "hpc/job"}, {"size", 3},
                     {"members", 2},      {"kept", 0},
                     {"held", 0},         {"bound", 0},
                     {"waitingMs", 3000}, {"why", "2 of 3 pods of its gang exist"}};
  EXPECT_EQ(seen.at("jobs"), json::array({gang}));
}

TEST_F(ViewsTest, JobsShowHowFarTheyAreAndWhyTheyWait) {
  for (const char* name : {"m0", "m1"}) ask(member_of(name, 4));
  ask(pod_of("single", 3));
  ask(pod_of("large", 9));
  const json seen = json::parse(jobs_json(job_rows(pod_scheduler_), 5000));
  EXPECT_EQ(seen["elastic"], json::array());
  const json gang = {{"name", "hpc/job"},
                     {"size", 3},
                     {"members", 2},
                     {"kept", 0},
                     {"held", 0},
                     {"bound", 0},
                     {"why", seen.at("jobs")[0].value("why", "")},
                     {"waitingMs", 3000}};
  ASSERT_EQ(seen.at("jobs").size(), 2U) << seen.dump(1) << "\na pod that has a node is no news";
  EXPECT_EQ(seen.at("jobs")[0], gang);
  EXPECT_FALSE(gang.at("why").get<std::string>().empty());
  EXPECT_EQ(seen.at("jobs")[1].at("name"), "hpc/large");
  EXPECT_EQ(seen.at("jobs")[1].at("size"), 1);
}

TEST(JobsJson, HasWhyAnElasticJobWaits) {
  ElasticRow row{.name = "hpc/wave", .kind = "Job", .change = "malleable", .state = "waits"};
  EXPECT_FALSE(json::parse(jobs_json({}, 0, {row})).at("elastic")[0].contains("why"));
  row.why = "needs 16 CPUs, 4 CPUs are free";
  EXPECT_EQ(json::parse(jobs_json({}, 0, {row})).at("elastic")[0].at("why"), row.why);
  EXPECT_FALSE(json::parse(jobs_json({}, 0, {row})).at("elastic")[0].contains("speed"));
  row.speed = {.measure = "progress", .rates = {{2, 105.5}}, .shrink_s = {}, .expand_s = 4};
  EXPECT_EQ(json::parse(jobs_json({}, 0, {row})).at("elastic")[0].at("speed"),
            json::parse(R"({"measure":"progress","rates":[{"workers":2,"perSecond":105.5}],
                            "expandSeconds":4})"));
}

TEST(JobsJson, IsBoundedAndSaysHowManyMoreThereAre) {
  const std::vector<JobRow> jobs(kMostRowsShown + 3);
  const std::vector<ElasticRow> elastic(kMostRowsShown + 1);
  const json seen =
      json::parse(jobs_json(jobs, 0, elastic, {{.name = "hpc/wave", .last = "", .why = ""}}));
  EXPECT_EQ(seen.at("jobs").size(), kMostRowsShown);
  EXPECT_EQ(seen.at("elastic").size(), kMostRowsShown);
  EXPECT_EQ(seen.at("notShown"), json::parse(R"({"jobs":3,"elastic":1})"));
  EXPECT_FALSE(json::parse(jobs_json({}, 0)).contains("notShown"));
}

// Who has many jobs hides nobody's from one who asks for a namespace.
TEST(JobsJson, ShowsOneNamespaceWhateverComesBefore) {
  std::vector<JobRow> jobs(kMostRowsShown + 500, {.name = "aaa/many", .why = ""});
  for (const char* name : {"aaa-b/other", "hpc/job", "hpc/wind", "hpc2/other", "other/hpc"}) {
    jobs.push_back({.name = name, .why = ""});
  }
  const std::vector<ElasticRow> elastic = {
      {.name = "aaa/hpc", .kind = "Job", .change = "malleable", .state = "waits"}};
  const std::vector<ProfileRow> learnt = {{.name = "aaa/hpc", .last = "", .why = ""},
                                          {.name = "hpc/wave", .last = "", .why = ""}};
  const json seen = json::parse(jobs_json(
      of_namespace("hpc", jobs), 0, of_namespace("hpc", elastic), of_namespace("hpc", learnt)));
  const auto names = [&seen](const char* list) {
    std::vector<std::string> found;
    for (const json& row : seen.at(list)) found.push_back(row.at("name"));
    return found;
  };
  EXPECT_THAT(names("jobs"), testing::ElementsAre("hpc/job", "hpc/wind"));
  EXPECT_THAT(names("elastic"), testing::IsEmpty());
  EXPECT_THAT(names("profiles"), testing::ElementsAre("hpc/wave"));
  EXPECT_FALSE(seen.contains("notShown"));
  EXPECT_EQ(json::parse(jobs_json(of_namespace("aaa", jobs), 0)).at("notShown").at("jobs"), 500);
  EXPECT_EQ(of_namespace("", jobs), jobs);
}

TEST(JobsJson, HasWhatWasLearnt) {
  const json seen = json::parse(jobs_json(
      {}, 0, {},
      {{.name = "hpc/wave", .runs = 1, .last = "2026-11-19", .why = "too brief"},
       {.name = "hpc/wind", .profile = "cpu", .runs = 2, .last = "2026-11-20", .why = "busy"}}));
  EXPECT_EQ(seen.at("profiles"),
            json::parse(R"([{"name":"hpc/wave","runs":1,"last":"2026-11-19","why":"too brief"},
                            {"name":"hpc/wind","profile":"cpu","runs":2,"last":"2026-11-20",
                             "why":"busy"}])"));
}

TEST_F(ViewsTest, APlannedGangDoesNotWait) {
  for (const char* name : {"m0", "m1", "m2", "m0", "m1"}) ask(member_of(name, 2));
  ASSERT_EQ(
      pod_scheduler_.bind("uid-m0", pod_scheduler_.book().member("uid-m0")->node, 1, 2000).kind,
      BindAnswer::Kind::kHold);
  const auto rows = job_rows(pod_scheduler_);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].kept, 2);
  EXPECT_EQ(rows[0].held, 1);
  EXPECT_EQ(rows[0].why, "");
}

}  // namespace
}  // namespace pinion::cluster
