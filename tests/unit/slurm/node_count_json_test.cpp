#include "cluster/slurm/node_count_json.h"

#include <gtest/gtest.h>

#include "cluster/extender/elastic/elastic_job.h"

namespace pinion::slurm {
namespace {

using nlohmann::json;

PodTemplate wind_in_hpc() {
  PodTemplate all;
  all.name_space = "hpc";
  all.cluster = "wind";
  return all;
}

Ask ask() {
  Ask ask{.job = 12, .name = "wind-12-500-0-0-nodes", .attempt = "12-500-0-0", .shape = {}};
  ask.shape.nodes = 2;
  ask.shape.cpus = 4;
  ask.shape.memory_mib = 100;
  ask.most = 8;
  ask.wishes = {{"priority", "5"}};
  return ask;
}

TEST(NodeCountJson, TheExtenderReadsAnElasticJob) {
  json object = job_object(wind_in_hpc(), ask());
  object["metadata"]["uid"] = "u";
  const auto job = cluster::elastic::read_elastic(object, {});
  ASSERT_TRUE(job) << job.error().text;
  EXPECT_EQ(job->min_workers, 2);
  EXPECT_EQ(job->max_workers, 8);
  EXPECT_EQ(job->cpus, 4);
  EXPECT_EQ(job->priority, 5);
  EXPECT_TRUE(job->suspended);
  EXPECT_EQ(job->change, cluster::Change::kMalleable);
  EXPECT_EQ(job->channel.kind, cluster::elastic::Channel::Kind::kAnnotation);

  Ask once = ask();
  once.moldable = true;
  const auto moldable = cluster::elastic::read_elastic(job_object(wind_in_hpc(), once), {});
  ASSERT_TRUE(moldable) << moldable.error().text;
  EXPECT_EQ(moldable->change, cluster::Change::kMoldable);
}

TEST(NodeCountJson, IsReadAsItGoesOn) {
  json object = job_object(wind_in_hpc(), ask());
  object["metadata"]["uid"] = "u";
  object["metadata"]["resourceVersion"] = "7";
  auto count = node_count_of(wind_in_hpc(), object);
  ASSERT_TRUE(count);
  EXPECT_EQ(count->job, 12U);
  EXPECT_EQ(count->attempt, "12-500-0-0");
  EXPECT_EQ(count->version, "7");
  EXPECT_TRUE(count->suspended);
  EXPECT_FALSE(count->moldable);
  EXPECT_EQ(count->target(), 2);
  object["spec"]["suspend"] = false;
  object["spec"]["parallelism"] = 5;
  object["metadata"]["annotations"]["pinion.dev/wanted-workers"] = "3";
  object["metadata"]["annotations"]["pinion.dev/acknowledged-workers"] = "x";
  object["metadata"]["deletionTimestamp"] = "2026-11-27T00:00:00Z";
  object["status"] = {{"active", 5}, {"ready", 4}, {"terminating", 1}};
  count = node_count_of(wind_in_hpc(), object);
  ASSERT_TRUE(count);
  EXPECT_FALSE(count->suspended);
  EXPECT_EQ(count->stated, 5);
  EXPECT_EQ(count->target(), 3);
  EXPECT_EQ(count->acknowledged, std::nullopt);
  EXPECT_TRUE(count->asks());
  EXPECT_TRUE(count->leaving);
  EXPECT_EQ(count->told, (NodeCount::Told{.active = 5, .ready = 4, .terminating = 1}));
}

TEST(NodeCountJson, OthersAreNone) {
  json object = job_object(wind_in_hpc(), ask());
  EXPECT_TRUE(is_ours(object));
  PodTemplate other = wind_in_hpc();
  other.cluster = "sea";
  EXPECT_FALSE(node_count_of(other, object));
  object["spec"].erase("managedBy");
  EXPECT_FALSE(is_ours(object)) << "the Job controller makes its pods";
  EXPECT_FALSE(node_count_of(wind_in_hpc(), object));
  EXPECT_FALSE(node_count_of(wind_in_hpc(), json()));
}

TEST(NodeCountJson, AnAnswerIsForTheVersionThatWasRead) {
  const Acknowledge answer{.job = 12, .name = "x", .version = "7", .nodes = 3};
  EXPECT_EQ(patch_of(answer), json::parse(R"({"metadata": {"resourceVersion": "7",
      "annotations": {"pinion.dev/acknowledged-workers": "3"}}})"));
  EXPECT_EQ(patch_of(Report{.job = 12, .name = "x", .told = {.active = 2, .ready = 1}}),
            json::parse(R"({"status": {"active": 2, "ready": 1, "terminating": 0}})"));
}

// Its placeholders are no gang: more of them come later.
TEST(NodeCountJson, APlaceholderOfItIsInNoGang) {
  Create create;
  create.pod.size = 0;
  create.pod.attempt = "12-500-0-0";
  create.shape.elastic = true;
  create.nodes = std::make_shared<const std::vector<std::string>>(1, "n1");
  const json pod = pod_object(wind_in_hpc(), create);
  EXPECT_FALSE(pod["metadata"]["annotations"].contains("pinion.dev/gang-size"));
  EXPECT_FALSE(pod["spec"].contains("schedulingGates"));
  EXPECT_TRUE(pod["spec"]["affinity"].contains("podAntiAffinity"));
  EXPECT_EQ(placeholder_of(wind_in_hpc(), pod)->size, 0);
}

}  // namespace
}  // namespace pinion::slurm
