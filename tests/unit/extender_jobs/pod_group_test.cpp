// Which gangs kube-scheduler keeps together itself, and the PodGroups that it does so by.
#include "cluster/extender/jobs/pod_group.h"

#include <gtest/gtest.h>

#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::jobs {
namespace {

constexpr const char* kSixteenTasks = R"({"pinion.dev/tasks":"16"})";

Options with_groups(bool served = true) {
  Options options;
  options.pod_groups = [served] { return served; };
  return options;
}

// What keeps the pods of the template at `at` together.
std::string kept_by(const json& object, const char* at, const Options& options) {
  const Mutation mutation = mutate(object, "ns", options, nodes_there(4));
  EXPECT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  const json pod = applied(object, mutation).at(json::json_pointer(at));
  std::string kept;
  if (pod.at("metadata").at("annotations").contains("pinion.dev/pod-group")) kept += "group";
  if (pod.at("spec").contains("schedulingGates")) kept += "gate";
  return kept;
}

TEST(PodGroups, TakeThePlaceOfTheGateWhereTheyAreServed) {
  const json job = asking("job_create", kSixteenTasks);
  EXPECT_EQ(kept_by(job, "/spec/template", with_groups()), "group");
  EXPECT_EQ(kept_by(job, "/spec/template", with_groups(false)), "gate");
  EXPECT_EQ(kept_by(job, "/spec/template", Options()), "gate");
  Options without_gates = with_groups();
  without_gates.gates = false;
  EXPECT_EQ(kept_by(job, "/spec/template", without_gates), "group");
}

TEST(PodGroups, AreOfWorkersAlone) {
  const json job = asking("mpijob_create", kSixteenTasks);
  EXPECT_EQ(kept_by(job, "/spec/mpiReplicaSpecs/Worker/template", with_groups()), "group");
  EXPECT_EQ(kept_by(job, "/spec/mpiReplicaSpecs/Launcher/template", with_groups()), "");
}

// Its pod's owner is a Job that the MPIJob's operator makes: that pod could not join.
TEST(PodGroups, AreNoneWhereALauncherWorks) {
  const json job = asking("mpijob_create", R"({"pinion.dev/tasks":"16",
    "pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"cpu","pinion.dev/policy":"scale"})",
                          R"({"spec":{"runLauncherAsWorker":true,"slotsPerWorker":1,
    "mpiReplicaSpecs":{
      "Launcher":{"template":{"spec":{"containers":[{"name":"launcher","image":"i"}]}}},
      "Worker":{"replicas":null,"template":{"spec":{
        "containers":[{"name":"worker","image":"i"}]}}}}}})");
  EXPECT_EQ(kept_by(job, "/spec/mpiReplicaSpecs/Worker/template", with_groups()), "gate");
}

struct ChildCase {
  const char* name;
  const char* captured;
  const char* merge_patch;
  const char* group;  // that it joins; empty: none
};

class PodGroupOf : public testing::TestWithParam<ChildCase> {};

TEST_P(PodGroupOf, IsItsJobs) {
  json pod = captured_object(GetParam().captured, GetParam().merge_patch);
  join_pod_group(pod);
  EXPECT_EQ(pod.at("spec").value("/schedulingGroup/podGroupName"_json_pointer, std::string()),
            GetParam().group);
}

constexpr const char* kMarked = R"({"metadata":{"annotations":{"pinion.dev/pod-group":"true"}}})";

INSTANTIATE_TEST_SUITE_P(
    Pods, PodGroupOf,
    testing::Values(
        ChildCase{"IndexedJob", "job_pod", kMarked, "pinion-66161d31-02ac-46e4-bd3c-664dce22617f"},
        ChildCase{"JobSet", "jobset_worker_pod", kMarked,
                  "pinion-f2ecf24a-2786-4f82-b017-b6a0524f1687"},
        ChildCase{"MpiJob", "mpijob_worker_pod", kMarked,
                  "pinion-6b21c935-88b8-46de-a167-44060542466a"},
        ChildCase{"VolcanoJob", "vcjob_worker_pod", kMarked,
                  "pinion-79a068b3-73b9-4c62-96e8-4bfc0d04306f"},
        ChildCase{"NotMarked", "job_pod", "{}", ""},
        ChildCase{"MarkedOtherwise", "job_pod",
                  R"({"metadata":{"annotations":{"pinion.dev/pod-group":"false"}}})", ""},
        ChildCase{"OfItsUsers", "job_pod",
                  R"({"metadata":{"annotations":{"pinion.dev/pod-group":"true"}},
                      "spec":{"schedulingGroup":{"podGroupName":"mine"}}})",
                  "mine"},
        ChildCase{"OnItsNode", "job_pod",
                  R"({"metadata":{"annotations":{"pinion.dev/pod-group":"true"}},
                      "spec":{"nodeName":"node-1"}})",
                  ""},
        ChildCase{"JobSetWithoutItsUid", "jobset_worker_pod",
                  R"({"metadata":{"annotations":{"pinion.dev/pod-group":"true",
                        "pinion.dev/owner":"jobset.x-k8s.io/v1alpha2/jobsets/j1"},
                      "labels":{"jobset.sigs.k8s.io/jobset-uid":null}}})",
                  ""},
        ChildCase{"Orphan", "job_pod",
                  R"({"metadata":{"annotations":{"pinion.dev/pod-group":"true"},
                      "ownerReferences":null}})",
                  ""}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(PodGroup, HasAsManyMembersAsItsJobHasWorkersNow) {
  json job = asking("job_create", R"({"pinion.dev/tasks":"16","pinion.dev/decided":"16 tasks"})",
                    R"({"metadata":{"uid":"u"},"spec":{"parallelism":3,"completions":3}})");
  auto cut = read_cut_job(job);
  ASSERT_TRUE(cut && *cut);
  const auto group = pod_group(job, (*cut)->job, (*cut)->workers(), "urgent");
  ASSERT_TRUE(group);
  EXPECT_EQ(group->at("metadata").at("name"), "pinion-u");
  EXPECT_EQ(group->at("metadata").at("ownerReferences").at(0).at("uid"), "u");
  EXPECT_EQ(group->at("/spec/schedulingPolicy/gang/minCount"_json_pointer), 3);
  EXPECT_EQ(group->at("spec").at("priorityClassName"), "urgent");
  job["metadata"].erase("uid");
  EXPECT_FALSE(pod_group(job, (*cut)->job, 3, "")) << "it is not stored yet";
}

}  // namespace
}  // namespace pinion::cluster::jobs
