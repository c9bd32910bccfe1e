#include "cluster/extender/elastic/elastic_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/extender_elastic/sample_job.h"

namespace pinion::cluster::elastic {
namespace {

using nlohmann::json;
using test_support::JobShape;
using test_support::make_job;
using testing::HasSubstr;

TEST(ElasticObject, IsReadFromAJob) {
  json job = make_job();
  job["status"] = {{"active", 3}, {"ready", 2}, {"terminating", 1}, {"succeeded", 5}};
  auto& annotations = job["metadata"]["annotations"];
  annotations["pinion.dev/priority"] = "-7";
  annotations["pinion.dev/rescale-gap-seconds"] = "60";
  annotations["pinion.dev/acknowledge"] = "annotation";
  annotations["pinion.dev/requested-workers"] = "100";
  annotations["pinion.dev/wanted-workers"] = "6";
  annotations["pinion.dev/previous-workers"] = "4";
  const auto read = read_elastic(job, {});
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->change, Change::kMalleable);
  EXPECT_EQ(std::tie(read->min_workers, read->max_workers, read->priority, read->gap_ms),
            std::make_tuple(2, 8, -7, 60'000));
  EXPECT_EQ(read->cpus, 4);
  EXPECT_EQ(std::tie(read->active, read->ready, read->terminating, read->succeeded),
            std::make_tuple(3, 2, 1, 5));
  EXPECT_EQ(read->submitted_ms, 1'795'532'400'000);
  EXPECT_EQ(read->workers(), 6) << "what it will have";
  EXPECT_EQ(read->before, 4);
  EXPECT_EQ(read->channel.kind, Channel::Kind::kAnnotation);
  EXPECT_EQ(read->wish(), 8) << "no more than it may have";
  EXPECT_FALSE(read->over);
  EXPECT_EQ(read->path, "/apis/batch/v1/namespaces/default/jobs/wave");
}

TEST(ElasticObject, SaysWhatIsWrong) {
  struct Case {
    const char* name;
    std::function<void(json&)> spoil;
    const char* why;
  };
  const Case cases[] = {
      {"an unknown word",
       [](json& job) { job["metadata"]["labels"]["pinion.dev/elastic"] = "yes"; }, "malleable"},
      {"not indexed", [](json& job) { job["spec"].erase("completionMode"); }, "Indexed"},
      {"no number",
       [](json& job) { job["metadata"]["annotations"]["pinion.dev/min-workers"] = "two"; },
       "min-workers: not a number from 0 to 1000"},
      {"min above max",
       [](json& job) { job["metadata"]["annotations"]["pinion.dev/min-workers"] = "9"; },
       "is 9 of 8"},
      {"nobody at least",
       [](json& job) { job["metadata"]["annotations"]["pinion.dev/min-workers"] = "0"; },
       "is 0 of 8"},
      {"an unknown channel",
       [](json& job) { job["metadata"]["annotations"]["pinion.dev/acknowledge"] = "true"; },
       "http:PORT"},
      {"more PEs than a program is asked for",
       [](json& job) {
         job["metadata"]["annotations"]["pinion.dev/acknowledge"] = "ccs:1234";
         json& container = job["spec"]["template"]["spec"]["containers"][0];
         for (const char* amounts : {"requests", "limits"}) {
           container["resources"][amounts]["cpu"] = "4096";
         }
       },
       "4096 CPUs: pinion.dev/pes-per-worker"},
      {"a moment that no clock has",
       [](json& job) {
         job["metadata"]["annotations"]["pinion.dev/declined-until"] = "9007199254740992";
       },
       "declined-until"},
      {"no whole CPUs",
       [](json& job) {
         job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "500m";
       },
       "no cores of their own"},
      {"nothing at all", [](json& job) { job = json::object(); }, "malleable"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    json job = make_job();
    c.spoil(job);
    const auto read = read_elastic(job, {});
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().text, HasSubstr(c.why));
  }
}

// Its user can write nonsense at any moment, also while it grows: its pods count still.
TEST(ElasticObject, OneThatRunsAndMakesNoSenseIsLeftAlone) {
  json job = make_job({.workers = 8});
  job["status"] = {{"active", 8}, {"ready", 3}};
  auto& annotations = job["metadata"]["annotations"];
  annotations["pinion.dev/priority"] = "x";
  annotations["pinion.dev/wanted-workers"] = "8";
  annotations["pinion.dev/previous-workers"] = "3";
  annotations["pinion.dev/rescaled-at"] = "77";
  const auto left = read_or_leave_alone(job, {});
  ASSERT_TRUE(left) << left.error().text;
  EXPECT_THAT(left->left_alone, HasSubstr("pinion.dev/priority"));
  EXPECT_EQ(std::tie(left->stated, left->ready, left->before, left->rescaled_ms),
            std::make_tuple(8, 3, 3, 77));
  EXPECT_EQ(left->wanted, 8);
  job["spec"]["suspend"] = true;
  EXPECT_FALSE(read_or_leave_alone(job, {})) << "it has no pods";
  job["spec"]["suspend"] = false;
  annotations["pinion.dev/wanted-workers"] = "y";
  EXPECT_FALSE(read_or_leave_alone(job, {})) << "nobody knows what it has";
  EXPECT_EQ(read_or_leave_alone(make_job(), {})->left_alone, "");
}

TEST(ElasticObject, OneThatHasEndedOrGoesIsOver) {
  json complete = make_job();
  complete["status"]["conditions"] = {{{"type", "Complete"}, {"status", "True"}}};
  json going = make_job();
  going["metadata"]["deletionTimestamp"] = "2026-11-24T15:21:31Z";
  json suspended = make_job();
  suspended["status"]["conditions"] = {{{"type", "Suspended"}, {"status", "True"}}};
  EXPECT_TRUE(read_elastic(complete, {})->over);
  EXPECT_TRUE(read_elastic(going, {})->over);
  EXPECT_FALSE(read_elastic(suspended, {})->over);
}

TEST(ElasticObject, ARigidOneHasItsNumber) {
  const auto read = read_elastic(make_job({.change = "rigid"}), {});
  EXPECT_EQ(read->min_workers, 4);
  EXPECT_EQ(read->max_workers, 4);
}

}  // namespace
}  // namespace pinion::cluster::elastic
