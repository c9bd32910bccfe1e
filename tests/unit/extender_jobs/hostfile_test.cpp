// Hostfiles, and what differs from pod to pod.
#include "cluster/extender/jobs/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cluster/core/task_groups.h"
#include "cluster/extender/jobs/child_pod.h"
#include "policy/annotations.h"
#include "policy/policy.h"
#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::jobs {
namespace {

// A job as golden_test left it and the API server has stored it.
json stored(const std::string& name) {
  std::ifstream file(reviews_file("expected/" + name));
  json object = json::parse(file, nullptr, /*allow_exceptions=*/false);
  object["metadata"]["uid"] = "uid-1";
  return object;
}

Result<std::optional<json>> config_map_of(const json& object) {
  const auto cut = read_cut_job(object);
  if (!cut) return failure(cut.error());
  return *cut ? hostfile_config_map(object, **cut) : Result<std::optional<json>>(std::nullopt);
}

std::string hostfile_of(const json& object, const char* key = kHostfileKey) {
  const auto map = config_map_of(object);
  EXPECT_TRUE(map) << (map ? "" : map.error().text);
  if (!map || !*map) return "none";
  return (*map)->at("data").at(key).get<std::string>();
}

TEST(Hostfile, HasTheHostsOfEachKind) {
  EXPECT_EQ(hostfile_of(stored("mpijob_uneven")),
            "j1-worker-0.j1.mpi-openmpi.svc slots=3\nj1-worker-1.j1.mpi-openmpi.svc slots=3\n"
            "j1-worker-2.j1.mpi-openmpi.svc slots=2\nj1-worker-3.j1.mpi-openmpi.svc slots=2\n");
  EXPECT_EQ(hostfile_of(stored("mpijob_uneven"), kMachinefileKey),
            "j1-worker-0.j1.mpi-openmpi.svc:3\nj1-worker-1.j1.mpi-openmpi.svc:3\n"
            "j1-worker-2.j1.mpi-openmpi.svc:2\nj1-worker-3.j1.mpi-openmpi.svc:2\n");
  EXPECT_EQ(hostfile_of(stored("jobset_scale")),
            "j1-workers-0-0.j1 slots=3\nj1-workers-0-1.j1 slots=3\n"
            "j1-workers-0-2.j1 slots=2\nj1-workers-0-3.j1 slots=2\n");
  EXPECT_EQ(hostfile_of(stored("vcjob_scale")),
            "j1-mpiworker-0.j1 slots=4\nj1-mpiworker-1.j1 slots=4\n"
            "j1-mpiworker-2.j1 slots=4\nj1-mpiworker-3.j1 slots=4\n");
  EXPECT_EQ(hostfile_of(stored("job_scale")), "j1-0.j1 slots=4\nj1-1.j1 slots=4\n");
}

TEST(Hostfile, GoesWithItsJob) {
  const auto map = config_map_of(stored("jobset_scale"));
  ASSERT_TRUE(map && *map);
  EXPECT_EQ((*map)->at("metadata"),
            json::parse(R"({"name":"j1-pinion","namespace":"js-plain","ownerReferences":[
              {"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"j1","uid":"uid-1"}]})"));
}

TEST(Hostfile, IsMadeOnlyWhereItIsMounted) {
  EXPECT_EQ(hostfile_of(stored("mpijob_granularity")), "none");
  EXPECT_EQ(hostfile_of(captured_object("job_create")), "none");
  EXPECT_EQ(hostfile_of(captured_object("mpijob_worker_pod")), "none");
}

TEST(Hostfile, FollowsTheNumberOfWorkers) {
  json object = stored("mpijob_uneven");
  object["/spec/mpiReplicaSpecs/Worker/replicas"_json_pointer] = 1;
  EXPECT_EQ(hostfile_of(object), "j1-worker-0.j1.mpi-openmpi.svc slots=10\n");
  object["/spec/mpiReplicaSpecs/Worker/replicas"_json_pointer] = 11;
  EXPECT_FALSE(config_map_of(object));
}

TEST(CutJob, HasTheWorkersOfNow) {
  struct Case {
    const char* job;
    const char* field;  // what its user patches
    int workers;
  };
  for (const Case& one :
       {Case{"mpijob_uneven", "/spec/mpiReplicaSpecs/Worker/replicas", 4},
        Case{"vcjob_scale", "/spec/tasks/1/replicas", 4},
        Case{"jobset_scale", "/spec/replicatedJobs/1/template/spec/parallelism", 4},
        Case{"job_scale", "/spec/parallelism", 2}}) {
    json object = stored(one.job);
    auto cut = read_cut_job(object);
    ASSERT_TRUE(cut && *cut) << one.job;
    EXPECT_EQ((*cut)->workers(), one.workers) << one.job;
    const json::json_pointer field(one.field);
    object[field] = 1;
    if (field.back() == "parallelism") object[field.parent_pointer() / "completions"] = 1;
    cut = read_cut_job(object);
    ASSERT_TRUE(cut && *cut) << one.job;
    EXPECT_EQ((*cut)->workers(), 1) << one.job;
  }
  EXPECT_FALSE(*read_cut_job(captured_object("job_create")));
  EXPECT_FALSE(*read_cut_job(captured_object("mpijob_worker_pod")));
}

TEST(Hostfile, NeedsAJobThatIsStored) {
  json object = stored("job_scale");
  object["metadata"].erase("uid");
  const auto map = config_map_of(object);
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().text, "metadata.uid: missing");
}

TEST(Hostfile, TheLauncherIsAHostWhereItWorks) {
  json object = stored("mpijob_launcher_works");
  object["metadata"]["annotations"][annotation::kHostfile] = "j1-pinion";
  object["metadata"]["annotations"][annotation::kTasks] = "5";
  EXPECT_EQ(hostfile_of(object),
            "j1-launcher.j1.mpi-openmpi.svc slots=2\nj1-worker-0.j1.mpi-openmpi.svc slots=1\n"
            "j1-worker-1.j1.mpi-openmpi.svc slots=1\nj1-worker-2.j1.mpi-openmpi.svc slots=1\n");
}

TEST(Hostfile, CanBeDeclined) {
  const json object =
      asking("job_create", R"({"pinion.dev/tasks":"16","pinion.dev/hostfile":"none"})",
             R"({"spec":{"template":{"spec":{"subdomain":"s"}}}})");
  const Mutation mutation = mutate(object, "ns", {}, nodes_there(4));
  ASSERT_TRUE(mutation.cut) << mutation.text;
  EXPECT_EQ(mutation.cut->hostfile, "");
  EXPECT_FALSE(applied(object, mutation).contains("/spec/template/spec/volumes"_json_pointer));
}

TEST(Hostfile, TheUsersOwnVariablesStay) {
  const json object = asking(
      "job_create", R"({"pinion.dev/tasks":"8","pinion.dev/memory-per-task":"1Gi"})",
      R"({"spec":{"parallelism":2,"completions":2,"template":{"spec":{"subdomain":"s","containers":[
         {"name":"worker","env":[{"name":"HYDRA_HOST_FILE","value":"mine"}]}]}}}})");
  const Mutation mutation = mutate(object, "ns", {}, nodes_there(4));
  const json env =
      applied(object, mutation).at("/spec/template/spec/containers/0/env"_json_pointer);
  ASSERT_EQ(env.size(), 4U);
  EXPECT_EQ(env[0], json({{"name", "HYDRA_HOST_FILE"}, {"value", "mine"}}));
}

TEST(Owner, IsAPathOnTheApiServer) {
  EXPECT_EQ(owner_path("jobset.x-k8s.io/v1alpha2/jobsets/j1", "ns"),
            "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/j1");
  EXPECT_EQ(owner_path("batch/v1/jobs/j1", "ns"), "/apis/batch/v1/namespaces/ns/jobs/j1");
  for (const char* bad : {"", "batch/v1/jobs/", "batch/v1/secrets/j1", "batch/v1/jobs/a/../b",
                          "batch/v1/jobs/J?x=1", "batch//jobs/j1", "v1/pods/p"}) {
    EXPECT_EQ(owner_path(bad, "ns"), std::nullopt) << bad;
  }
  EXPECT_EQ(owner_path("batch/v1/jobs/j1", "a/b"), std::nullopt);
}

// --- pods

Mutation mutated(const json& pod) {
  return mutate(pod, "ns", {}, nodes_there(4));
}

struct GroupCase {
  const char* name;
  const char* captured;
  const char* merge_patch;
  const char* group;
};

class GroupOf : public testing::TestWithParam<GroupCase> {};

TEST_P(GroupOf, AWorkerIsWrittenOnItsPod) {
  const json pod =
      asking(GetParam().captured, R"({"pinion.dev/task-groups":"2","pinion.dev/gang-size":"4"})",
             GetParam().merge_patch);
  const Mutation mutation = mutated(pod);
  ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  const json after = applied(pod, mutation);
  EXPECT_EQ(after.at("metadata").at("annotations").at(annotation::kTaskGroup), GetParam().group);
  EXPECT_EQ(mutated(after).kind, Mutation::Kind::kUntouched);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, GroupOf,
    testing::Values(
        GroupCase{"mpijob_first", "mpijob_worker_pod", "{}", "j1-0"},
        GroupCase{"mpijob_fourth", "mpijob_worker_pod",
                  R"({"metadata":{"labels":{"training.kubeflow.org/replica-index":"3"}}})", "j1-1"},
        GroupCase{"vcjob_fourth", "vcjob_worker_pod", "{}", "j1-1"},
        GroupCase{"job_first", "job_pod", "{}", "j1-0"},
        GroupCase{"jobset_second", "jobset_worker_pod",
                  R"({"metadata":{"labels":{"batch.kubernetes.io/job-completion-index":"1"}}})",
                  "j1-1"},
        // The third of four: the first of the second Job.
        GroupCase{"jobset_of_two_jobs", "jobset_worker_pod",
                  R"({"metadata":{"labels":{"jobset.sigs.k8s.io/job-index":"1",
                      "jobset.sigs.k8s.io/replicatedjob-replicas":"2"}}})",
                  "j1-0"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Group, IsThatOfAlgorithmThree) {
  for (int groups = 1; groups <= 5; ++groups) {
    Gang workers(13);
    for (auto& worker : workers) worker.cpus = 4;
    join_groups("j", groups, {}, workers);
    for (int member = 0; member < 13; ++member) {
      EXPECT_EQ(workers[static_cast<std::size_t>(member)].task_group,
                "j-" + std::to_string(group_of(member, groups)));
    }
  }
}

// An annotation may be far longer than what agents read of it.
TEST(Group, OfALongJobKeepsItsNumber) {
  const std::string longest(policy::kLongestName, 'x');
  const std::string group = group_name(longest, 12, 13);
  EXPECT_EQ(group, longest.substr(0, longest.size() - 3) + "-12");
  EXPECT_EQ(policy::cut_name(group), group);
}

TEST(LauncherPod, LooksIntoOurHostfile) {
  const json pod = asking("mpijob_launcher_pod", R"({"pinion.dev/hostfile":"j1-pinion"})");
  const json after = applied(pod, mutated(pod));
  const json& env = after.at("/spec/containers/0/env"_json_pointer);
  EXPECT_EQ(env[2],
            json({{"name", "OMPI_MCA_orte_default_hostfile"}, {"value", "/etc/pinion/hostfile"}}));
  EXPECT_EQ(env.size(), pod.at("/spec/containers/0/env"_json_pointer).size());
  EXPECT_EQ(mutated(after).kind, Mutation::Kind::kUntouched);
}

TEST(LauncherPod, OfIntelMpiLosesTheEqualNumbers) {
  json pod = asking("mpijob_launcher_pod", R"({"pinion.dev/hostfile":"j1-pinion"})");
  pod["/spec/containers/0/env"_json_pointer] = json::parse(
      R"([{"name":"I_MPI_HYDRA_HOST_FILE","value":"/etc/mpi/hostfile"},
          {"name":"I_MPI_PERHOST","value":"3"},{"name":"OTHER","value":"x"}])");
  EXPECT_EQ(applied(pod, mutated(pod)).at("/spec/containers/0/env"_json_pointer),
            json::parse(R"([{"name":"I_MPI_HYDRA_HOST_FILE","value":"/etc/pinion/machinefile"},
                            {"name":"OTHER","value":"x"}])"));
}

TEST(DirectPod, IsOneWorker) {
  const json pod = asking("mpijob_worker_pod",
                          R"({"pinion.dev/tasks":"4","pinion.dev/memory-per-task":"1Gi",
                              "pinion.dev/gang-size":"2","pinion.dev/task-group":"j1-0"})",
                          R"({"metadata":{"ownerReferences":null},"spec":{"containers":[
                              {"name":"rank"}]}})");
  Options options;
  options.scheduler = "pinion";
  const Mutation mutation = mutate(pod, "ns", options, nodes_there(4));
  ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  const json after = applied(pod, mutation);
  EXPECT_EQ(after.at("/spec/containers/0/resources"_json_pointer),
            json::parse(
                R"({"limits":{"cpu":"4","memory":"4Gi"},"requests":{"cpu":"4","memory":"4Gi"}})"));
  EXPECT_EQ(after.at("spec").at("schedulerName"), "pinion");
  EXPECT_EQ(after.at("metadata").at("annotations").at("pinion.dev/gang-size"), "2");
  EXPECT_EQ(mutate(after, "ns", options, nodes_there(4)).kind, Mutation::Kind::kUntouched);
}

TEST(DirectPod, WithAJobAloneGetsTheScheduler) {
  const json pod = captured_object("mpijob_worker_pod", R"({"metadata":{"ownerReferences":null}})");
  Options options;
  options.scheduler = "pinion";
  const Mutation mutation = mutate(pod, "ns", options, nodes_there(4));
  EXPECT_EQ(mutation.patch,
            json::parse(R"([{"op":"replace","path":"/spec/schedulerName","value":"pinion"}])"));
  EXPECT_EQ(mutated(pod).kind, Mutation::Kind::kUntouched);
}

TEST(Scheduler, ThatTheUserChoseStaysAndIsSaid) {
  const json object = asking("job_create", R"({"pinion.dev/tasks":"16"})",
                             R"({"spec":{"template":{"spec":{"schedulerName":"mine"}}}})");
  Options options;
  options.scheduler = "pinion";
  const Mutation mutation = mutate(object, "ns", options, nodes_there(4));
  EXPECT_EQ(applied(object, mutation).at("/spec/template/spec/schedulerName"_json_pointer), "mine");
  EXPECT_THAT(mutation.warnings, testing::ElementsAre(testing::HasSubstr("keep the scheduler")));
}

}  // namespace
}  // namespace pinion::cluster::jobs
