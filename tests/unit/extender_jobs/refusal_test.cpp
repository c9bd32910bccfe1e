// What contradicts itself is refused, with words for the user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::jobs {
namespace {

struct RefusalCase {
  const char* name;
  const char* captured;
  const char* annotations;
  const char* says;
  const char* merge_patch = "{}";
  int nodes = 4;  // 0: none is known yet
};

class Refusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refusal, SaysWhatIsWrong) {
  const json object = asking(GetParam().captured, GetParam().annotations, GetParam().merge_patch);
  const Fleet nobody;
  const Choose choose = GetParam().nodes > 0
                            ? nodes_there(GetParam().nodes)
                            : choose_by([&](const auto& see) { see({.fleet = nobody}); });
  const Mutation mutation = mutate(object, "ns", {}, choose);
  EXPECT_EQ(mutation.kind, Mutation::Kind::kRefused) << mutation.patch;
  EXPECT_THAT(mutation.text, testing::HasSubstr(GetParam().says));
  EXPECT_TRUE(mutation.patch.empty());
}

const RefusalCase kWishes[] = {
    {"tasks_of_zero", "job_create", R"({"pinion.dev/tasks":"0"})",
     "annotation pinion.dev/tasks: '0' is not a whole number from 1 to 1000000"},
    {"tasks_with_a_rest", "job_create", R"({"pinion.dev/tasks":"4x"})", "'4x' is not"},
    {"tasks_as_a_number", "job_create", R"({"pinion.dev/tasks":4})", "'4' is not a text"},
    {"memory_of_nothing", "job_create",
     R"({"pinion.dev/tasks":"4","pinion.dev/memory-per-task":"0"})", "an amount of memory"},
    {"unknown_profile", "job_create", R"({"pinion.dev/tasks":"4","pinion.dev/profile":"disk"})",
     "'disk' is not one of: cpu, memory, network"},
    {"unknown_class", "job_create", R"({"pinion.dev/tasks":"4","pinion.dev/class":"batch"})",
     "annotation pinion.dev/class: 'batch' is not one of: hpc, service"},
    {"unknown_policy", "job_create", R"({"pinion.dev/tasks":"4","pinion.dev/policy":"best"})",
     "none, scale, granularity, auto"},
    {"unknown_smt", "job_create", R"({"pinion.dev/tasks":"16","pinion.dev/smt":"odd"})",
     "annotation pinion.dev/smt"},
    {"unknown_hostfile", "job_create", R"({"pinion.dev/tasks":"4","pinion.dev/hostfile":"foo"})",
     "annotation pinion.dev/hostfile: 'foo' is not one of: none"},
    {"policy_without_tasks", "job_create", R"({"pinion.dev/policy":"scale"})",
     "pinion.dev/policy needs pinion.dev/tasks"},
};
INSTANTIATE_TEST_SUITE_P(Wishes, Refusal, testing::ValuesIn(kWishes),
                         [](const auto& one) { return std::string(one.param.name); });

const RefusalCase kContradictions[] = {
    {"replicas_against_policy", "mpijob_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/profile":"cpu","pinion.dev/policy":"granularity"})",
     "spec.mpiReplicaSpecs.Worker.replicas: 4 workers are stated, and policy granularity chose 16 "
     "workers in 4 groups"},
    {"more_workers_than_tasks", "mpijob_create", R"({"pinion.dev/tasks":"3"})",
     "4 workers for 3 tasks"},
    {"slots", "mpijob_create", R"({"pinion.dev/tasks":"32","pinion.dev/cpus-per-task":"1"})",
     "spec.slotsPerWorker: 4 is stated, and a worker has 8"},
    {"cpus", "mpijob_create", R"({"pinion.dev/tasks":"16","pinion.dev/cpus-per-task":"2"})",
     "spec.mpiReplicaSpecs.Worker.template.spec.containers[0].resources.limits.cpu: '4' is stated, "
     "and a worker of this job needs 8"},
    {"memory", "mpijob_create", R"({"pinion.dev/tasks":"16","pinion.dev/memory-per-task":"1Gi"})",
     "resources.limits.memory: '1Gi' is stated, and a worker of this job needs 4Gi"},
    {"groups_against_policy", "job_create",
     R"({"pinion.dev/tasks":"4","pinion.dev/profile":"cpu","pinion.dev/policy":"scale",
         "pinion.dev/task-groups":"2"})",
     "2 groups are stated, and policy scale chose"},
    {"more_groups_than_workers", "job_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/task-groups":"5"})", "5 task groups for 4 workers"},
    {"job_named_otherwise", "job_create", R"({"pinion.dev/tasks":"16","pinion.dev/job":"other"})",
     "spec.template.metadata.annotations: pinion.dev/job is stated as 'j1', and the job makes it "
     "'other'"},
    {"gang_of_another_size", "job_create", R"({"pinion.dev/tasks":"16"})",
     "pinion.dev/gang-size is stated as '3'",
     R"({"spec":{"template":{"metadata":{"annotations":{"pinion.dev/gang-size":"3"}}}}})"},
    {"no_node_is_known", "job_create",
     R"({"pinion.dev/tasks":"4","pinion.dev/profile":"cpu","pinion.dev/policy":"scale"})",
     "no node that it may use is known now", "{}", 0},
    {"pod_with_a_policy", "mpijob_worker_pod",
     R"({"pinion.dev/tasks":"4","pinion.dev/policy":"scale"})", "a Pod is one worker",
     R"({"metadata":{"ownerReferences":null}})"},
};
INSTANTIATE_TEST_SUITE_P(Contradictions, Refusal, testing::ValuesIn(kContradictions),
                         [](const auto& one) { return std::string(one.param.name); });

const RefusalCase kObjects[] = {
    {"no_name", "job_create", R"({"pinion.dev/tasks":"16"})", "metadata.name: missing",
     R"({"metadata":{"name":null}})"},
    {"not_indexed", "job_create", R"({"pinion.dev/tasks":"16"})",
     "spec.completionMode: must be Indexed", R"({"spec":{"completionMode":"NonIndexed"}})"},
    {"some_at_a_time", "job_create", R"({"pinion.dev/tasks":"16"})", "2 of 4 completions",
     R"({"spec":{"parallelism":2}})"},
    {"parallelism_is_a_text", "job_create", R"({"pinion.dev/tasks":"16"})",
     "spec.parallelism: not a number from 0 to 1000", R"({"spec":{"parallelism":"4"}})"},
    {"no_template", "job_create", R"({"pinion.dev/tasks":"16"})", "spec.template: missing",
     R"({"spec":{"template":null}})"},
    {"no_container", "job_create", R"({"pinion.dev/tasks":"16"})",
     "spec.template.spec.containers: no container",
     R"({"spec":{"template":{"spec":{"containers":[]}}}})"},
    {"containers_are_a_text", "job_create", R"({"pinion.dev/tasks":"16"})",
     "spec.template.spec.containers: not a list",
     R"({"spec":{"template":{"spec":{"containers":"x"}}}})"},
    {"no_memory_at_all", "job_create", R"({"pinion.dev/tasks":"16"})",
     "container worker states no limit of memory",
     R"({"spec":{"template":{"spec":{"containers":[{"name":"worker"}]}}}})"},
    {"a_second_container_without_limits", "job_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/memory-per-task":"1Gi"})",
     "container log states no limit of cpu",
     R"({"spec":{"template":{"spec":{"containers":[{"name":"worker"},{"name":"log"}]}}}})"},
    {"launcher_made_after_the_workers_it_belongs_to", "mpijob_create",
     R"({"pinion.dev/tasks":"20"})", "WaitForWorkersReady with runLauncherAsWorker never starts",
     R"({"spec":{"runLauncherAsWorker":true,"launcherCreationPolicy":"WaitForWorkersReady"}})"},
    {"launcher_alone", "mpijob_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/profile":"network","pinion.dev/policy":"scale"})",
     "one beside the launcher",
     R"({"spec":{"runLauncherAsWorker":true,"slotsPerWorker":1,
        "mpiReplicaSpecs":{"Worker":{"replicas":null}}}})"},
    {"old_mpijob", "mpijob_create", R"({"pinion.dev/tasks":"16"})", "only version",
     R"({"apiVersion":"kubeflow.org/v1"})"},
    {"mpijob_without_workers", "mpijob_create", R"({"pinion.dev/tasks":"16"})",
     "spec.mpiReplicaSpecs.Worker.template: missing",
     R"({"spec":{"mpiReplicaSpecs":{"Worker":null}}})"},
    {"min_available_of_an_mpijob", "mpijob_create", R"({"pinion.dev/tasks":"16"})",
     "spec.runPolicy.schedulingPolicy.minAvailable: 6 is more than the 5 pods",
     R"({"spec":{"runPolicy":{"schedulingPolicy":{"minAvailable":6}}}})"},
    {"min_available_of_a_vcjob", "vcjob_create", R"({"pinion.dev/tasks":"16"})",
     "spec.minAvailable: 9 is more than the 5 pods", R"({"spec":{"minAvailable":9}})"},
    {"no_such_worker", "vcjob_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/worker-role":"ranks"})",
     "none is called 'ranks'; there are: mpimaster, mpiworker"},
    {"which_are_the_workers", "jobset_create", R"({"pinion.dev/tasks":"16"})",
     "Set annotation pinion.dev/worker-role to one of: a, b",
     R"({"spec":{"replicatedJobs":[{"name":"a"},{"name":"b"}]}})"},
    {"parts_that_do_not_divide", "jobset_create",
     R"({"pinion.dev/tasks":"5","pinion.dev/profile":"cpu","pinion.dev/policy":"granularity",
         "pinion.dev/memory-per-task":"1Gi"})",
     "5 workers cannot be divided among 2 replicas",
     R"({"spec":{"replicatedJobs":[{"name":"w","replicas":2,"template":{"spec":{"template":{
        "spec":{"containers":[{"name":"c"}]}}}}}]}})"},
};
INSTANTIATE_TEST_SUITE_P(Objects, Refusal, testing::ValuesIn(kObjects),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::cluster::jobs
