// What becomes of captured jobs, whole: expected/CASE.json is the object after the patch.
#include <gtest/gtest.h>

#include <fstream>

#include "policy/annotations.h"
#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::jobs {
namespace {

struct GoldenCase {
  const char* name;
  const char* captured;
  const char* annotations;
  const char* merge_patch = "{}";
};

// Lists are replaced whole by a merge patch, so these stand for the captured ones.
constexpr const char* kVolcanoBare = R"({"spec":{"minAvailable":1,"schedulerName":null,"tasks":[
  {"name":"mpimaster","replicas":1,"template":{"spec":{"containers":[
    {"name":"mpimaster","image":"example.com/mpi-app:1"}]}}},
  {"name":"mpiworker","template":{"spec":{"containers":[
    {"name":"mpiworker","image":"example.com/mpi-app:1"}]}}}]}})";
constexpr const char* kJobSetBare = R"({"spec":{"replicatedJobs":[
  {"name":"leader","replicas":1,"template":{"spec":{"completions":1,"parallelism":1,"template":{
    "spec":{"containers":[{"name":"leader","image":"example.com/mpi-app:1"}]}}}}},
  {"name":"workers","replicas":1,"template":{"spec":{"template":{
    "spec":{"containers":[{"name":"worker","image":"example.com/mpi-app:1"}]}}}}}]}})";
constexpr const char* kMpiBare = R"({"spec":{"slotsPerWorker":1,"mpiReplicaSpecs":{"Worker":{
  "replicas":null,"template":{"spec":{"containers":[
    {"name":"worker","image":"example.com/mpi-app:1"}]}}}}}})";
constexpr const char* kMpiLauncherWorks = R"({"spec":{"runLauncherAsWorker":true,"slotsPerWorker":1,
  "mpiReplicaSpecs":{
    "Launcher":{"template":{"spec":{"containers":[{"name":"launcher","image":"i"}]}}},
    "Worker":{"replicas":null,"template":{"spec":{"containers":[{"name":"worker","image":"i"}]}}}}}})";
constexpr const char* kJobBare = R"({"spec":{"parallelism":1,"completions":1,"template":{"spec":{
  "subdomain":"j1","containers":[{"name":"worker","image":"example.com/mpi-app:1"}]}}}})";

const GoldenCase kCases[] = {
    {"mpijob_stated", "mpijob_create", R"({"pinion.dev/tasks":"16"})"},
    {"mpijob_granularity", "mpijob_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"cpu",
         "pinion.dev/policy":"granularity","pinion.dev/strength":"preferred"})",
     kMpiBare},
    {"mpijob_uneven", "mpijob_create",
     R"({"pinion.dev/tasks":"10","pinion.dev/memory-per-task":"512Mi","pinion.dev/profile":"memory",
         "pinion.dev/policy":"scale"})",
     kMpiBare},
    {"mpijob_launcher_works", "mpijob_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"cpu",
         "pinion.dev/policy":"scale"})",
     kMpiLauncherWorks},
    {"vcjob_scale", "vcjob_create",
     R"({"pinion.dev/tasks":"16","pinion.dev/cpus-per-task":"2","pinion.dev/memory-per-task":"1Gi",
         "pinion.dev/profile":"cpu","pinion.dev/policy":"scale"})",
     kVolcanoBare},
    {"jobset_scale", "jobset_create",
     R"({"pinion.dev/tasks":"10","pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"memory",
         "pinion.dev/policy":"scale"})",
     kJobSetBare},
    {"job_network", "job_create",
     R"({"pinion.dev/tasks":"8","pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"network",
         "pinion.dev/policy":"auto"})",
     kJobBare},
    {"job_scale", "job_create",
     R"({"pinion.dev/tasks":"8","pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"cpu",
         "pinion.dev/policy":"scale","pinion.dev/nodes":"2"})",
     kJobBare}};

class Golden : public testing::TestWithParam<GoldenCase> {
 protected:
  static Options options() {
    Options options;
    options.scheduler = "pinion";
    return options;
  }
  const json object_ = asking(GetParam().captured, GetParam().annotations, GetParam().merge_patch);
  const Mutation mutation_ = mutate(object_, "ns", options(), nodes_there(4));
};

TEST_P(Golden, BecomesTheExpectedObject) {
  ASSERT_EQ(mutation_.kind, Mutation::Kind::kChanged) << mutation_.text;
  const json after = applied(object_, mutation_);
  const std::string path = reviews_file(std::string("expected/") + GetParam().name);
  // UPDATE_GOLDEN=1 in the environment rewrites the file; read the difference before you commit it.
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << after.dump(1) << "\n";
  }
  std::ifstream file(path);
  const json expected = json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(after, expected) << "differs by " << json::diff(expected, after).dump(1);
}

TEST_P(Golden, ASecondPassChangesNothing) {
  const json after = applied(object_, mutation_);
  // Another fleet by then: what was decided stays.
  const Mutation again = mutate(after, "ns", options(), nodes_there(1));
  EXPECT_EQ(again.kind, Mutation::Kind::kUntouched) << again.text << again.patch;
  EXPECT_EQ(again.patch, json::array());
  EXPECT_EQ(again.text, "it is cut already");
}

TEST_P(Golden, AWishThatHasChangedSinceIsRefused) {
  json after = applied(object_, mutation_);
  after["metadata"]["annotations"][annotation::kTasks] = "64";
  const Mutation again = mutate(after, "ns", options(), nodes_there(4));
  EXPECT_EQ(again.kind, Mutation::Kind::kRefused);
  EXPECT_NE(again.text.find("pinion.dev/decided"), std::string::npos) << again.text;
}

TEST_P(Golden, WithoutTheAnnotationsNothingIsTouched) {
  json plain = object_;
  for (const char* name : {annotation::kTasks, annotation::kCpusPerTask, annotation::kMemoryPerTask,
                           annotation::kPolicy, annotation::kNodes}) {
    plain["metadata"]["annotations"].erase(name);
  }
  const Mutation none = mutate(plain, "ns", options(), nodes_there(4));
  EXPECT_EQ(none.kind, Mutation::Kind::kUntouched) << none.text;
}

TEST_P(Golden, WhatAJobsControllerMakesIsLeftAlone) {
  json child = object_;
  child["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                                       {"kind", "JobSet"},
                                                       {"name", "p"},
                                                       {"uid", "u"},
                                                       {"controller", true}}});
  EXPECT_EQ(mutate(child, "ns", options(), nodes_there(4)).kind, Mutation::Kind::kUntouched);
  // Who only refers to it has not made it; and what a CronJob makes is a job like any other.
  child["metadata"]["ownerReferences"][0]["controller"] = false;
  EXPECT_EQ(mutate(child, "ns", options(), nodes_there(4)).kind, Mutation::Kind::kChanged);
  child["metadata"]["ownerReferences"][0] = {
      {"apiVersion", "batch/v1"}, {"kind", "CronJob"}, {"controller", true}};
  EXPECT_EQ(mutate(child, "ns", options(), nodes_there(4)).kind, Mutation::Kind::kChanged);
}

INSTANTIATE_TEST_SUITE_P(Jobs, Golden, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::cluster::jobs
