// The webhook behind a real API server: what it answers, seen on an Indexed Job whose pods a real
// Job controller makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cluster/extender/kube/json_read.h"
#include "tests/e2e/agent_nodes.h"
#include "tests/e2e/cluster_test.h"
#include "tests/e2e/controllers.h"
#include "tests/e2e/extender_process.h"
#include "tests/e2e/webhook.h"

namespace pinion::e2e {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;
using testing::HasSubstr;

json asking(const std::string& name, const json& annotations) {
  json object = captured(name, "j1");
  object["metadata"]["annotations"] = annotations;
  return object;
}

// What another extender has learnt of the job "seen", in the namespace that extenders have here.
const json kEarlierRuns = {
    {"apiVersion", "v1"},
    {"kind", "ConfigMap"},
    {"metadata", {{"name", "pinion-profiles"}}},
    {"data", {{"profiles.json", R"({"default/seen":{"runs":3,"lastUnix":1795132800,
       "used":{"value":0.99,"seconds":1800},
       "missesPerCpuSecond":{"value":1.05e7,"seconds":1800},
       "missesPerKiloInstruction":{"value":21,"seconds":1800}}})"}}}};

class Webhook : public ClusterTest<Webhook> {
 public:
  static ClusterOptions options() { return {.controller_manager = true}; }

 protected:
  static void SetUpTestSuite() { ClusterTest::SetUpTestSuite(); }
  static void TearDownTestSuite() {
    extender() = {};
    fleet().reset();
    ClusterTest::TearDownTestSuite();
  }

  // Once for all tests: four nodes of 2 x 16 cores, the extender with TLS, the CRDs, the webhook.
  void SetUp() override {
    ClusterTest::SetUp();
    if (!ready() || fleet()) return;
    if (const Status built = NodeRuntime::built(); !built) GTEST_SKIP() << built.error().text;
    const auto tls = make_extender_tls(cluster().folder());
    if (!tls && tls.error().code == Errc::kNotFound) GTEST_SKIP() << tls.error().text;
    ASSERT_TRUE(ok(tls));
    auto nodes = AgentNodes::start(cluster(), {"node-0", "node-1", "node-2", "node-3"});
    ASSERT_TRUE(ok(nodes));
    fleet() = *std::move(nodes);
    create("/api/v1/namespaces/kube-system/configmaps", kEarlierRuns);
    auto started = ExtenderProcess::start(cluster(), fleet()->agents_file(), tls->flags);
    ASSERT_TRUE(ok(started));
    extender() = *std::move(started);
    extender().speak_tls(tls->client);
    ASSERT_TRUE(ok(register_webhook(api(), extender().web_url(), tls->client.ca)));
  }

  json create(const std::string& path, const json& object) {
    auto made = api().create(path, object);
    EXPECT_TRUE(ok(made));
    return made ? *made : json::object();
  }

  static std::unique_ptr<AgentNodes>& fleet() {
    static std::unique_ptr<AgentNodes> nodes;
    return nodes;
  }
  static ExtenderProcess& extender() {
    static ExtenderProcess process;
    return process;
  }
};

const json kScale = {{"pinion.dev/job", "j1"},  // as the captured template says
                     {"pinion.dev/tasks", "8"},
                     {"pinion.dev/memory-per-task", "64Mi"},
                     {"pinion.dev/profile", "cpu"},
                     {"pinion.dev/policy", "scale"}};

constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";

// Eight tasks on four nodes are four workers of two tasks: so many pods the Job controller makes,
// each told its gang and its group, and a hostfile with two slots for each.
TEST_F(Webhook, AnIndexedJobIsCutAndItsControllerMakesThePods) {
  json job = asking("job_create", kScale);
  job["metadata"]["name"] = "indexed";
  job["spec"]["parallelism"] = job["spec"]["completions"] = 1;
  job["spec"]["template"]["spec"]["subdomain"] = "indexed";
  job["spec"]["template"]["spec"]["containers"][0].erase("resources");
  const json stored = create(kJobs, job);
  EXPECT_EQ(json_at(stored, "spec", "parallelism"), 4);
  EXPECT_EQ(json_at(stored, "spec", "completions"), 4);

  Collection pods(api(),
                  kube::WatchOptions{.path = "/api/v1/namespaces/default/pods",
                                     .label_selector = "batch.kubernetes.io/job-name=indexed",
                                     .field_selector = {}});
  ASSERT_TRUE(pods.wait([](const auto& all) { return all.size() == 4; }));
  std::set<std::string> groups;
  for (const auto& [name, pod] : pods.now()) {
    EXPECT_EQ(json_text(pod, "metadata", "annotations", "pinion.dev/gang-size"), "4");
    EXPECT_EQ(json_text(pod, "metadata", "annotations", "pinion.dev/job"), "j1");
    EXPECT_EQ(json_text(pod, "status", "qosClass"), "Guaranteed");
    const json& limits = json_at(pod, "spec", "containers").at(0).at("resources").at("limits");
    EXPECT_EQ(json_text(limits, "cpu"), "2");
    groups.insert(json_text(pod, "metadata", "annotations", "pinion.dev/task-group"));
  }
  EXPECT_EQ(groups, (std::set<std::string>{"j1-0", "j1-1", "j1-2", "j1-3"}));

  Collection maps(api(), "/api/v1/namespaces/default/configmaps");
  ASSERT_TRUE(maps.wait_for("indexed-pinion", [](const json&) { return true; }));
  const json map = maps.now().at("indexed-pinion");
  EXPECT_EQ(json_text(map, "data", "hostfile"),
            "indexed-0.indexed slots=2\nindexed-1.indexed slots=2\nindexed-2.indexed slots=2\n"
            "indexed-3.indexed slots=2\n");
  EXPECT_EQ(json_text(map.at("metadata").at("ownerReferences").at(0), "uid"),
            json_text(stored, "metadata", "uid"))
      << "it goes with its job";
}

TEST_F(Webhook, AJobIsGivenTheProfileThatItsEarlierRunsHaveShown) {
  // It reads them with the rights that it has in its own namespace.
  ASSERT_TRUE(lab::eventually(kPatience, [] {
    const auto page = extender().page("/v1/jobs");
    return page && !json_at(*page, "profiles").empty();
  }));
  json job = asking("job_create", kScale);
  json& annotations = job["metadata"]["annotations"];
  annotations["pinion.dev/profile"] = "auto";
  job["spec"]["template"]["metadata"]["annotations"].erase("pinion.dev/job");
  job["spec"]["template"]["spec"]["containers"][0].erase("resources");
  for (const auto& [name, profile, why, workers] :
       {std::tuple("seen", "memory",
                   "memory: 21 L3 misses per 1,000 instructions in 3 runs, last 2026-11-20", 4),
        std::tuple("new", "", "none: no earlier run was observed", 1)}) {
    job["metadata"]["name"] = annotations["pinion.dev/job"] = name;
    job["spec"]["parallelism"] = job["spec"]["completions"] = 1;
    const json stored = create(kJobs, job);
    for (const json& object : {stored, json_at(stored, "spec", "template")}) {
      const json& said = json_at(object, "metadata", "annotations");
      EXPECT_EQ(json_text(said, "pinion.dev/profile"), profile);
      EXPECT_EQ(json_text(said, "pinion.dev/profile-why"), why);
    }
    EXPECT_EQ(json_at(stored, "spec", "parallelism"), workers) << "the policy goes by it";
  }
}

TEST_F(Webhook, AJobThatContradictsItselfIsRefusedInWords) {
  json job = asking("job_create", {{"pinion.dev/tasks", "eight"}});
  const auto refused = api().create(kJobs, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
  EXPECT_THAT(refused.error().text, HasSubstr("annotation pinion.dev/tasks: 'eight' is not"));
}

TEST_F(Webhook, AJobThatDoesNotAskStaysAsItIs) {
  json job = captured("job_create", "j1");
  job["metadata"]["name"] = "plain";
  job["metadata"].erase("annotations");
  job["spec"]["template"]["metadata"].erase("annotations");
  const json stored = create(kJobs, job);
  EXPECT_EQ(stored.dump().find("pinion.dev"), std::string::npos);
  EXPECT_EQ(json_at(stored, "spec", "parallelism"), job.at("spec").at("parallelism"));
}

TEST_F(Webhook, ADryRunLeavesNothing) {
  json job = asking("job_create", kScale);
  job["metadata"]["name"] = "dry";
  job["spec"]["parallelism"] = job["spec"]["completions"] = 1;
  job["spec"]["template"]["spec"]["containers"][0].erase("resources");
  const json answer = create(std::string(kJobs) + "?dryRun=All", job);
  EXPECT_EQ(json_at(answer, "spec", "parallelism"), 4);
  EXPECT_FALSE(api().get(std::string(kJobs) + "/dry"));
}

}  // namespace
}  // namespace pinion::e2e
