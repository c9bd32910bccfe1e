// Which pods are whose workers, what becomes wholly free when the last ones leave, and what room
// there is for more.
#include "cluster/extender/elastic/workers.h"

#include <gtest/gtest.h>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster::elastic {
namespace {

using Freed = std::map<std::string, std::vector<std::int64_t>>;

ElasticObject job_of(jobs::JobKind kind, const std::string& name, int workers) {
  ElasticObject job;
  job.kind = kind;
  job.uid = "uid-" + name;
  job.name = name;
  job.name_space = "team";
  job.stated = workers;
  job.request.cpus = 1;
  if (kind == jobs::JobKind::kVolcanoJob) {
    job.spec_part = {{"tasks", {{{"name", "master"}}, {{"name", "ranks"}}}}};
    job.worker_task = 1;
  }
  return job;
}

// One node with NUMA nodes 0-3 and 4-7, CPU 0 reserved. Pods hold one CPU each, in their order from
// CPU 7 down: the first four are alone in the second NUMA node.
Freed freed(const std::vector<ElasticObject>& jobs, const std::vector<std::string>& pods,
            const std::string& name_space = "team") {
  NodeReport report = report_of("a", machine_of({.packages = 2, .cores_per_l3 = 4}));
  std::vector<PodCpus> held;
  int cpu = 7;
  for (const std::string& pod : pods) {
    report.claims.push_back(claim_of(pod, std::to_string(cpu)));
    held.push_back({.name_space = name_space,
                    .name = pod,
                    .held = {.node = 0, .cpus = report.claims.back().cpus}});
    --cpu;
  }
  Fleet fleet;
  EXPECT_TRUE(fleet.report(std::move(report), 0));
  Freed freed;
  for (auto& [uid, seen] : on_fleet(fleet, jobs, held)) {
    if (!seen.frees_whole.empty()) freed.emplace(uid, std::move(seen.frees_whole));
  }
  return freed;
}

TEST(ElasticWorkers, AreKnownByTheirNames) {
  struct Case {
    const char* name;
    jobs::JobKind kind;
    std::vector<std::string> pods;  // of which the job states four
    bool known;
  };
  using jobs::JobKind;
  for (const Case& c : {
           Case{"Indexed Job",
                JobKind::kIndexedJob,
                {"j-3-x7k2p", "j-2-abcde", "j-1-fghij", "j-0-klmno"},
                true},
           Case{"its letters may be digits",
                JobKind::kIndexedJob,
                {"j-3-12345", "j-2-23456", "j-1-34567", "j-0-45678"},
                true},
           Case{"MPIJob",
                JobKind::kMpiJob,
                {"j-worker-3", "j-worker-2", "j-worker-1", "j-worker-0"},
                true},
           Case{"Volcano Job",
                JobKind::kVolcanoJob,
                {"j-ranks-3", "j-ranks-2", "j-ranks-1", "j-ranks-0"},
                true},
           Case{"another of its tasks",
                JobKind::kVolcanoJob,
                {"j-master-3", "j-ranks-2", "j-ranks-1", "j-ranks-0"},
                false},
           Case{"one is not there",
                JobKind::kMpiJob,
                {"j-worker-2", "j-worker-1", "j-worker-0"},
                false},
           Case{"one of before is still there",
                JobKind::kMpiJob,
                {"j-worker-4", "j-worker-3", "j-worker-2", "j-worker-1", "j-worker-0"},
                false},
           Case{"numbers with a gap",
                JobKind::kMpiJob,
                {"j-worker-4", "j-worker-2", "j-worker-1", "j-worker-0"},
                false},
           Case{"a number comes twice",
                JobKind::kIndexedJob,
                {"j-3-x7k2p", "j-3-abcde", "j-2-abcde", "j-1-fghij", "j-0-klmno"},
                false},
           Case{"a number that no controller writes",
                JobKind::kMpiJob,
                {"j-worker-03", "j-worker-2", "j-worker-1", "j-worker-0"},
                false},
           Case{"one of another owner, with fewer letters",
                JobKind::kIndexedJob,
                {"j-3-0", "j-2-abcde", "j-1-fghij", "j-0-klmno"},
                false},
           Case{"no numbers", JobKind::kIndexedJob, {"j", "j-", "j-x-abcde", "-j--"}, false},
       }) {
    const Freed wanted = c.known ? Freed{{"uid-j", {0, 0, 0, 4}}} : Freed{};
    EXPECT_EQ(freed({job_of(c.kind, "j", 4)}, c.pods), wanted) << c.name;
  }
}

TEST(ElasticWorkers, OfOtherNamespacesAreOthers) {
  const std::vector pods{std::string("j-worker-0")};
  EXPECT_EQ(freed({job_of(jobs::JobKind::kMpiJob, "j", 1)}, pods), (Freed{{"uid-j", {1}}}));
  EXPECT_EQ(freed({job_of(jobs::JobKind::kMpiJob, "j", 1)}, pods, "others"), Freed{});
}

// The highest numbers go first, whatever the pods' order; "far" shares its NUMA node with "near".
TEST(ElasticWorkers, LeaveFromTheHighestNumberDown) {
  const auto near = job_of(jobs::JobKind::kMpiJob, "near", 3);
  const auto far = job_of(jobs::JobKind::kMpiJob, "far", 3);
  EXPECT_EQ(freed({near, far}, {"near-worker-2", "near-worker-1", "far-worker-0", "far-worker-1",
                                "far-worker-2", "near-worker-0"}),
            (Freed{{"uid-near", {0, 0, 0}}, {"uid-far", {0, 0, 0}}}));
  EXPECT_EQ(freed({near, far}, {"near-worker-2", "near-worker-1", "near-worker-0", "far-worker-0",
                                "far-worker-1", "far-worker-2"}),
            (Freed{{"uid-near", {0, 0, 0}}, {"uid-far", {0, 2, 2}}}));
}

// On that node, CPUs 1 and 4 are of a worker each and CPU 7 of somebody else. The next job has
// workers of three CPUs.
TEST(ElasticWorkers, MoreFindRoomNowOrIfNoElasticJobRan) {
  Fleet fleet;
  NodeReport report = report_of("a", machine_of({.packages = 2, .cores_per_l3 = 4}));
  std::vector<PodCpus> held;
  for (const auto& [pod, cpu] : std::map<std::string, const char*>{
           {"runs-worker-0", "1"}, {"runs-worker-1", "4"}, {"other", "7"}}) {
    report.claims.push_back(claim_of(pod, cpu));
    held.push_back({.name_space = "team",
                    .name = pod,
                    .held = {.node = 0, .cpus = report.claims.back().cpus}});
  }
  ASSERT_TRUE(fleet.report(std::move(report), 0));
  const auto runs = job_of(jobs::JobKind::kMpiJob, "runs", 2);
  auto next = job_of(jobs::JobKind::kMpiJob, "next", 2);
  next.suspended = true;
  next.request.cpus = 3;
  next.request.align = topology::Align::kNuma;
  next.request.strength = topology::Strength::kRequired;
  next.min_workers = 1;
  auto seen = on_fleet(fleet, {runs, next}, held);
  EXPECT_EQ(seen.at("uid-next").room, 0);
  EXPECT_EQ(seen.at("uid-next").room_at_best, 2) << "1-3 and 4-6";
  next.request.cpus = 1;
  next.max_workers = 6;
  next.requested = 6;
  seen = on_fleet(fleet, {runs, next}, held);
  EXPECT_EQ(seen.at("uid-next").room, 4) << "fewer than its user wants";
  EXPECT_EQ(seen.at("uid-next").room_at_best, 6);
  next.request.cpus = 3;
  next.suspended = false;
  seen = on_fleet(fleet, {runs, next}, held);
  EXPECT_EQ(seen.at("uid-next").room_at_best, 0) << "it does not wait";
}

}  // namespace
}  // namespace pinion::cluster::elastic
