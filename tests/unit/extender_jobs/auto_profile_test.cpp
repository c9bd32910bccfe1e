// pinion.dev/profile: auto, and what is admitted in its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::jobs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kAutoTasks = R"({"pinion.dev/tasks":"16","pinion.dev/cpus-per-task":"1",
  "pinion.dev/memory-per-task":"1Gi","pinion.dev/profile":"auto","pinion.dev/policy":"scale"})";
constexpr const char* kBareJob =
    R"({"spec":{"parallelism":null,"completions":null,"template":{"spec":{
  "containers":[{"name":"worker","image":"i"}]}}}})";
constexpr const char* kMemoryWhy = "memory: 21 misses in 3 runs";

Options knowing(const std::string& name_space, const std::string& job,
                const LearntProfile& learnt = {Profile::kMemory, "21 misses in 3 runs"}) {
  Options options;
  options.learnt = [=](const std::string& asked_space, const std::string& asked_job) {
    return asked_space == name_space && asked_job == job ? learnt
                                                         : LearntProfile{.why = "no earlier run"};
  };
  return options;
}

json annotations_at(const json& object, const char* pointer) {
  return object.at(json::json_pointer(std::string(pointer) + "/metadata/annotations"));
}

TEST(AutoProfile, OfAJobIsWhatWasLearntOfItsName) {
  const json job = asking("job_create", kAutoTasks, kBareJob);
  const std::string name = job.at("metadata").at("name");
  const Mutation mutation = mutate(job, "ns", knowing("ns", name), nodes_there(4));
  ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  const json after = applied(job, mutation);
  for (const char* where : {"", "/spec/template"}) {
    EXPECT_EQ(annotations_at(after, where).at("pinion.dev/profile"), "memory") << where;
    EXPECT_EQ(annotations_at(after, where).at("pinion.dev/profile-why"), kMemoryWhy) << where;
  }
  EXPECT_EQ(after.at("spec").at("parallelism"), 4) << "the policy goes by it";
  EXPECT_THAT(mutation.warnings, Contains("pinion.dev/profile auto: memory: 21 misses in 3 runs"));
  EXPECT_THAT(mutation.cut->rows, Contains(Row{"profile", "memory", kMemoryWhy}));
}

TEST(AutoProfile, WithoutHistoryTheJobHasNone) {
  const json job = asking("job_create", kAutoTasks, kBareJob);
  const Mutation mutation = mutate(job, "ns", knowing("other", "job"), nodes_there(4));
  ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  const json after = applied(job, mutation);
  for (const char* where : {"", "/spec/template"}) {
    EXPECT_FALSE(annotations_at(after, where).contains("pinion.dev/profile")) << where;
    EXPECT_EQ(annotations_at(after, where).at("pinion.dev/profile-why"), "none: no earlier run");
  }
  EXPECT_THAT(mutation.warnings, Contains("pinion.dev/profile auto: none: no earlier run"));
  EXPECT_THAT(mutation.cut->rows, Contains(Row{"profile", "none", "none: no earlier run"}));
}

TEST(AutoProfile, StaysAsItWasDecided) {
  const json job = asking("job_create", kAutoTasks, kBareJob);
  const std::string name = job.at("metadata").at("name");
  const json after = applied(job, mutate(job, "ns", knowing("ns", name), nodes_there(4)));
  const Options other = knowing("ns", name, {Profile::kCpu, "by now"});
  EXPECT_EQ(mutate(after, "ns", other, nodes_there(4)).kind, Mutation::Kind::kUntouched);
  json again = after;  // as with kubectl apply of the source, and then made anew
  again["metadata"]["annotations"]["pinion.dev/profile"] = "auto";
  const Mutation mutation = mutate(again, "ns", other, nodes_there(4));
  ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  EXPECT_EQ(applied(again, mutation), after);
}

TEST(AutoProfile, GoesByTheNameOfTheGang) {
  json job = asking("job_create", kAutoTasks, kBareJob);
  job["metadata"]["annotations"]["pinion.dev/job"] = "wind";
  job["spec"]["template"]["metadata"]["annotations"].erase("pinion.dev/job");
  const Mutation mutation = mutate(job, "ns", knowing("ns", "wind"), nodes_there(4));
  ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
  EXPECT_EQ(annotations_at(applied(job, mutation), "").at("pinion.dev/profile"), "memory");
}

TEST(AutoProfile, OfPodsIsWrittenToo) {
  json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", "wind-0"},
                {"annotations",
                 {{"pinion.dev/job", "wind"},
                  {"pinion.dev/profile", "auto"},
                  {"pinion.dev/profile.rank", "auto"},
                  {"pinion.dev/profile.other", "cpu"}}}}},
              {"spec", {{"containers", {{{"name", "rank"}}}}}}};
  json child = pod;
  child["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                           {"kind", "Job"},
                                           {"name", "wind"},
                                           {"uid", "u"},
                                           {"controller", true}}};
  for (const json& one : {pod, child}) {
    const Mutation mutation = mutate(one, "ns", knowing("ns", "wind"), nodes_there(4));
    ASSERT_EQ(mutation.kind, Mutation::Kind::kChanged) << mutation.text;
    const json annotations = annotations_at(applied(one, mutation), "");
    EXPECT_EQ(annotations.at("pinion.dev/profile"), "memory");
    EXPECT_EQ(annotations.at("pinion.dev/profile.rank"), "memory");
    EXPECT_EQ(annotations.at("pinion.dev/profile.other"), "cpu");
    EXPECT_EQ(annotations.at("pinion.dev/profile-why"), kMemoryWhy);
    EXPECT_THAT(mutation.warnings, ElementsAre(HasSubstr(kMemoryWhy)));
  }
  pod["metadata"]["annotations"]["pinion.dev/tasks"] = "4";
  pod["metadata"]["annotations"]["pinion.dev/memory-per-task"] = "1Gi";
  const Mutation with_tasks = mutate(pod, "ns", knowing("ns", "wind"), nodes_there(4));
  ASSERT_EQ(with_tasks.kind, Mutation::Kind::kChanged) << with_tasks.text;
  EXPECT_EQ(annotations_at(applied(pod, with_tasks), "").at("pinion.dev/profile"), "memory");
}

TEST(AutoProfile, NobodyCanSayWhereNothingIsLearnt) {
  const json job = asking("job_create", kAutoTasks, kBareJob);
  const Mutation mutation = mutate(job, "ns", {}, nodes_there(4));
  EXPECT_EQ(mutation.kind, Mutation::Kind::kRefused);
  EXPECT_EQ(mutation.text,
            "annotation pinion.dev/profile: 'auto' needs what a running extender has learnt of "
            "earlier runs (its setting learnProfiles); use one of: cpu, memory, network");
}

TEST(AutoProfile, AJobWithoutTasksIsLeftAlone) {
  json job = asking("job_create", R"({"pinion.dev/profile":"auto"})");
  const Mutation mutation = mutate(job, "ns", knowing("ns", "x"), nodes_there(4));
  EXPECT_EQ(mutation.kind, Mutation::Kind::kUntouched);
  EXPECT_THAT(mutation.warnings, IsEmpty());
}

// A copy of a job whose profile was learnt, with another one stated.
TEST(AutoProfile, AReasonThatSpeaksOfAnotherProfileIsNotShown) {
  json job = asking("job_create", kAutoTasks, kBareJob);
  job["metadata"]["annotations"]["pinion.dev/profile"] = "cpu";
  job["metadata"]["annotations"]["pinion.dev/profile-why"] = kMemoryWhy;
  const Mutation mutation = mutate(job, "ns", {}, nodes_there(4));
  ASSERT_TRUE(mutation.cut) << mutation.text;
  EXPECT_THAT(mutation.cut->request.profile_why, IsEmpty());
}

}  // namespace
}  // namespace pinion::cluster::jobs
