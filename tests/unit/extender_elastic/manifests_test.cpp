// The manifests of docs/elastic.md, read as the extender reads what the API server has of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/whole_file.h"
#include "cluster/extender/elastic/actuator.h"
#include "cluster/extender/elastic/telling.h"
#include "cluster/files/job_file.h"
#include "tests/support/places.h"

namespace pinion::cluster::elastic {
namespace {

using nlohmann::json;

// The blocks of YAML that are whole objects.
std::vector<json> manifests() {
  const auto page = read_file(test_support::in_checkout("docs/elastic.md"), 1);
  EXPECT_TRUE(page) << page.error().text;
  std::vector<json> found;
  const std::string fence = "```";
  for (std::size_t at = page->find(fence + "yaml\n"); at != std::string::npos;
       at = page->find(fence + "yaml\n", at)) {
    at = page->find('\n', at) + 1;
    const std::size_t end = page->find(fence, at);
    const auto objects = parse_objects(page->substr(at, end - at));
    EXPECT_TRUE(objects) << objects.error().text;
    found.insert(found.end(), objects->begin(), objects->end());
    at = end + fence.size();
  }
  return found;
}

// What a JobSet's controller makes of it, and what the API server fills in.
json stored(const json& manifest) {
  json object = manifest;
  if (manifest.at("kind") == "JobSet") {
    const json& part = manifest.at("spec").at("replicatedJobs").at(0);
    object = part.at("template");
    object["apiVersion"] = "batch/v1";
    object["kind"] = "Job";
    object["metadata"]["name"] = "wave-workers-0";
  }
  object["metadata"].update({{"namespace", "default"}, {"uid", "u"}, {"resourceVersion", "7"}});
  return object;
}

// What pods that state CPUs say of whose they are: agents count only for jobs that are named.
void add_named_jobs(const json& part, std::set<std::string>& names) {
  const json::json_pointer limit("/spec/containers/0/resources/limits/cpu");
  if (part.is_object() && part.contains(limit)) {
    const json::json_pointer job("/metadata/annotations/pinion.dev~1job");
    names.insert(part.contains(job) ? part.at(job).get<std::string>() : "");
  }
  for (const json& one : part) {
    if (one.is_structured()) add_named_jobs(one, names);
  }
}

// Its command line starts as many PEs as the extender takes its workers to have, reads the files
// that it is told by, and listens where it is asked.
void expect_charm(const json& object, const ElasticObject& job) {
  EXPECT_EQ(job.channel, (Channel{.kind = Channel::Kind::kCcs, .port = 1234}));
  const json& launcher =
      object.at("/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0"_json_pointer);
  const auto line = launcher.at("args").at(0).get<std::string>();
  const std::string told = launcher.at("volumeMounts").at(0).at("mountPath");
  for (const std::string& part :
       {"+p$((" + std::to_string(job.pes_per_worker) + " * workers))",
        "++server ++server-port " + std::to_string(job.channel.port) + "\n",
        "< " + told + "/" + kWantedFile + "\n", "< " + told + "/" + kNodelistFile + " ",
        std::string("+balancer "), std::string("+shrinkexpand_basedir /shared ")}) {
    EXPECT_THAT(line, testing::HasSubstr(part));
  }
  EXPECT_THAT(size_map(job).at("data").at(kNodelistFile).get<std::string>(),
              testing::HasSubstr("host wave-worker-7.wave"));
}

TEST(ElasticManifests, OfThePageAreElasticJobsOfEachKind) {
  std::vector<std::string> kinds;
  for (const json& manifest : manifests()) {
    kinds.push_back(manifest.at("apiVersion").get<std::string>() + " " +
                    manifest.at("kind").get<std::string>());
    SCOPED_TRACE(kinds.back());
    const bool is_set = manifest.at("kind") == "JobSet";
    const bool is_volcano = kinds.back().starts_with("batch.volcano.sh");
    const bool is_charm = manifest.dump().find("charmrun") != std::string::npos;
    const json object = stored(manifest);
    const auto job = read_elastic(object, {});
    ASSERT_TRUE(job) << job.error().text;
    EXPECT_EQ(job->change, Change::kMalleable);
    EXPECT_EQ(std::tie(job->min_workers, job->max_workers, job->stated, job->cpus),
              std::make_tuple(2, 8, 2, 4));
    std::set<std::string> named;
    add_named_jobs(object.at("spec"), named);
    EXPECT_THAT(named, testing::ElementsAre(job->name));
    EXPECT_EQ(job->suspended, !is_set && !is_volcano) << "these start as they are";
    EXPECT_EQ(job->is_told, kinds.size() > 1) << "the first one is not told";
    if (is_charm) expect_charm(object, *job);
    if (job->is_told && !is_charm) {
      EXPECT_EQ(job->channel, (Channel{.kind = Channel::Kind::kHttp, .port = 8080}));
    }
    json larger = object;
    larger.merge_patch({{"spec", resized(*job, 8)}});
    EXPECT_EQ(read_elastic(larger, {})->stated, 8);
  }
  EXPECT_THAT(kinds, testing::ElementsAre(
                         "batch/v1 Job", "batch/v1 Job", "kubeflow.org/v2beta1 MPIJob",
                         "batch.volcano.sh/v1alpha1 Job", "jobset.x-k8s.io/v1alpha2 JobSet",
                         "kubeflow.org/v2beta1 MPIJob"));
}

}  // namespace
}  // namespace pinion::cluster::elastic
