// Bodies as API servers had them (tests/unit/extender_jobs/data), made elastic.
#include "cluster/extender/elastic/actuator.h"
#include "policy/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/extender_jobs/reviews.h"

namespace pinion::cluster::elastic {
namespace {

using jobs::captured_object;
using testing::HasSubstr;

nlohmann::json elastic_object(const std::string& name, const std::string& merge_patch = "{}") {
  auto object = captured_object(name, merge_patch);
  object["metadata"]["labels"][label::kElastic] = "malleable";
  object["metadata"]["annotations"][annotation::kMinWorkers] = "2";
  object["metadata"]["annotations"][annotation::kMaxWorkers] = "8";
  object["metadata"]["uid"] = "u";
  return object;
}

ElasticObject read(const nlohmann::json& object) {
  const auto job = read_elastic(object, {});
  EXPECT_TRUE(job) << job.error().text;
  return job ? *job : ElasticObject();
}

TEST(ElasticActuator, IndexedJob) {
  const auto job = read(elastic_object("job_create", R"({"spec":{"suspend":true},
      "status":{"active":4,"ready":3,"terminating":1,"succeeded":2}})"));
  EXPECT_EQ(std::tie(job.stated, job.active, job.ready, job.terminating, job.succeeded),
            std::make_tuple(4, 4, 3, 1, 2));
  EXPECT_TRUE(job.suspended);
  EXPECT_EQ(job.cpus, 4);
  EXPECT_EQ(resized(job, 6).dump(), R"({"completions":6,"parallelism":6})");
  EXPECT_EQ(suspended(job, false).dump(), R"({"suspend":false})");
  EXPECT_EQ(job.head, "batch.kubernetes.io/job-name=j1,batch.kubernetes.io/job-completion-index=0");
}

TEST(ElasticActuator, TheJobOfAJobSet) {
  const auto job = read(elastic_object("jobset_child_job"));
  EXPECT_EQ(job.kind, jobs::JobKind::kIndexedJob);
  EXPECT_EQ(job.stated, 1);
  EXPECT_THAT(job.path, HasSubstr("/jobs/j1-leader-0"));
}

TEST(ElasticActuator, MpiJob) {
  const auto object = elastic_object("mpijob_create", R"({"status":{"replicaStatuses":
      {"Launcher":{"active":1},"Worker":{"active":3}},"startTime":"2026-11-21T23:54:57Z"}})");
  const auto job = read(object);
  EXPECT_EQ(std::tie(job.stated, job.active, job.ready), std::make_tuple(4, 3, 3));
  EXPECT_FALSE(job.suspended);
  EXPECT_EQ(job.cpus, 4);
  EXPECT_EQ(resized(job, 6).dump(), R"({"mpiReplicaSpecs":{"Worker":{"replicas":6}}})");
  EXPECT_EQ(suspended(job, true).dump(), R"({"runPolicy":{"suspend":true}})");
  EXPECT_EQ(job.head, "training.kubeflow.org/job-name=j1,training.kubeflow.org/job-role=launcher");
  EXPECT_THAT(job.path, HasSubstr("/apis/kubeflow.org/v2beta1/namespaces/"));
}

TEST(ElasticActuator, AnMpiJobsGangFollows) {
  struct Case {
    int least;
    int workers;
    int then;  // 0: it is not touched
  };
  for (const Case& c : {Case{5, 2, 3}, Case{5, 7, 8}, Case{4, 2, 3}, Case{2, 3, 0}}) {
    SCOPED_TRACE(testing::Message() << c.least << " of 5, then " << c.workers);
    auto object = elastic_object("mpijob_create");
    object["spec"]["runPolicy"]["schedulingPolicy"]["minAvailable"] = c.least;
    const auto patch = resized(read(object), c.workers);
    if (c.then == 0) {
      EXPECT_FALSE(patch.contains("runPolicy"));
    } else {
      EXPECT_EQ(patch.at("runPolicy").at("schedulingPolicy").at("minAvailable"), c.then);
    }
  }
}

TEST(ElasticActuator, VolcanoJob) {
  const auto object = elastic_object("vcjob_create", R"({"status":{"state":{"phase":"Running"},
      "taskStatusCount":{"mpimaster":{"phase":{"Running":1}},
      "mpiworker":{"phase":{"Running":3,"Pending":1}}}}})");
  const auto job = read(object);
  EXPECT_EQ(std::tie(job.stated, job.active, job.ready), std::make_tuple(4, 4, 3));
  EXPECT_EQ(job.cpus, 4);
  EXPECT_EQ(job.other_cpus, 1) << "its master's";
  EXPECT_THAT(job.head, HasSubstr("volcano.sh/task-spec=mpimaster,volcano.sh/task-index=0"));
  auto after = object;
  after["spec"].merge_patch(resized(job, 2));
  auto wanted = object;
  wanted["spec"]["tasks"][1]["replicas"] = 2;
  wanted["spec"]["minAvailable"] = 3;  // was all 5
  EXPECT_EQ(after, wanted) << "nothing else has changed";
}

// With Volcano's webhooks each task has its own minimum, and none may be above its replicas.
TEST(ElasticActuator, AVolcanoJobsMinimumsFollow) {
  auto object = elastic_object("vcjob_create");
  object["spec"]["tasks"][0]["minAvailable"] = 1;
  object["spec"]["tasks"][1]["minAvailable"] = 4;
  const auto spec = resized(read(object), 2);
  EXPECT_EQ(spec["tasks"][0]["minAvailable"], 1);
  EXPECT_EQ(spec["tasks"][1]["minAvailable"], 2);
  EXPECT_EQ(spec["minAvailable"], 3);
  object["spec"].erase("minAvailable");
  object["spec"]["tasks"][1].erase("minAvailable");
  const auto without = resized(read(object), 6);
  EXPECT_FALSE(without["tasks"][1].contains("minAvailable"));
  EXPECT_EQ(without["minAvailable"], nullptr);
}

TEST(ElasticActuator, WhatCannotChangeSaysWhy) {
  struct Case {
    const char* name;
    const char* body;
    const char* patch;
    const char* why;
  };
  for (const Case& c :
       {Case{"a JobSet", "jobset_create", "{}", "replicatedJobs[].template.metadata"},
        Case{"a pod", "job_pod", "{}", "no size"},
        Case{"the launcher works", "mpijob_create", R"({"spec":{"runLauncherAsWorker":true}})",
             "one worker too many"},
        Case{"not all at once", "job_create", R"({"spec":{"parallelism":1,"completions":8}})",
             "must be equal"}}) {
    SCOPED_TRACE(c.name);
    const auto job = read_elastic(elastic_object(c.body, c.patch), {});
    ASSERT_FALSE(job);
    EXPECT_THAT(job.error().text, HasSubstr(c.why));
  }
}

TEST(ElasticActuator, OneThatHasEndedIsOver) {
  struct Case {
    const char* body;
    const char* status;
    bool over;
  };
  for (const Case& c :
       {Case{"mpijob_create", R"({"conditions":[{"type":"Running","status":"True"}]})", false},
        Case{"mpijob_create", R"({"conditions":[{"type":"Succeeded","status":"True"}]})", true},
        Case{"vcjob_create", R"({"state":{"phase":"Running"}})", false},
        Case{"vcjob_create", R"({"state":{"phase":"Completed"}})", true},
        Case{"job_create", R"({"conditions":[{"type":"Suspended","status":"True"}]})", false},
        Case{"job_create", R"({"conditions":[{"type":"Complete","status":"True"}]})", true}}) {
    SCOPED_TRACE(std::string(c.body) + " " + c.status);
    auto object = elastic_object(c.body);
    object["status"] = nlohmann::json::parse(c.status);
    EXPECT_EQ(read(object).over, c.over);
  }
}

}  // namespace
}  // namespace pinion::cluster::elastic
