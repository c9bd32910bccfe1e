// The webhook behind a real API server: an Indexed Job whose pods a real Job controller makes, and
// the other kinds as objects of stand-ins for their CRDs, with pods as their controllers were
// captured making them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "extender/kube/base64.h"
#include "extender/kube/json_read.h"
#include "tests/e2e/cluster_test.h"
#include "tests/e2e/crd.h"
#include "tests/e2e/extender_process.h"
#include "tests/e2e/fake_nodes.h"
#include "tests/support/machine.h"
#include "tests/unit/api/certificates.h"

namespace pinion::e2e {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The object in the review that a real API server has sent, without what that server had filled in.
json captured(const std::string& name) {
  const std::string path =
      std::string(PINION_SOURCE_DIR) + "/tests/unit/extender_jobs/data/" + name + ".json";
  json object = json::parse(text_of(path)).at("request").at("object");
  for (const char* key : {"uid", "creationTimestamp", "generation", "managedFields"}) {
    object["metadata"].erase(key);
  }
  object["metadata"]["namespace"] = "default";
  object.erase("status");
  return object;
}

json asking(const std::string& name, const json& annotations) {
  json object = captured(name);
  object["metadata"]["annotations"] = annotations;
  return object;
}

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
    if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl";
    auto nodes = FakeNodes::start(cluster().access(), cluster().folder(),
                                  {"node-0", "node-1", "node-2", "node-3"},
                                  test_support::machine({.packages = 2, .cores_per_l3 = 16}));
    ASSERT_TRUE(ok(nodes));
    fleet() = *std::move(nodes);
    ASSERT_TRUE(agent::api::make_certificates(cluster().folder(), "hook"));
    const auto tls = agent::api::files_of(cluster().folder(), "hook", "server");
    auto started = ExtenderProcess::start(cluster(), fleet()->agents_file(),
                                          {"--tls-cert", tls.certificate, "--tls-key", tls.key});
    ASSERT_TRUE(ok(started));
    extender() = *std::move(started);
    for (const Crd& crd : {kMpiJob, kJobSet, kVolcanoJob}) {
      ASSERT_TRUE(ok(add_crd(api(), crd))) << crd.plural;
    }
    // Without it no pod is admitted; a controller makes it.
    ASSERT_TRUE(eventually([&] {
      return api().get("/api/v1/namespaces/default/serviceaccounts/default").has_value();
    }));
    register_webhook(text_of(tls.ca));
  }

  void register_webhook(const std::string& ca) {
    const std::string url = "https" + extender().url().substr(4) + "/mutate";
    json rules = json::array();
    const auto rule = [&](const char* group, const char* version, const char* plural) {
      rules.push_back({{"operations", {"CREATE"}},
                       {"apiGroups", {group}},
                       {"apiVersions", {version}},
                       {"resources", {plural}}});
    };
    for (const Crd& crd : {kMpiJob, kJobSet, kVolcanoJob}) {
      rule(crd.group, crd.version, crd.plural);
    }
    rule("batch", "v1", "jobs");
    rule("", "v1", "pods");
    const json configuration = {
        {"apiVersion", "admissionregistration.k8s.io/v1"},
        {"kind", "MutatingWebhookConfiguration"},
        {"metadata", {{"name", "pinion"}}},
        {"webhooks",
         json::array({{{"name", "jobs.pinion.dev"},
                       {"admissionReviewVersions", {"v1"}},
                       {"sideEffects", "None"},
                       {"failurePolicy", "Fail"},
                       {"reinvocationPolicy", "IfNeeded"},
                       {"timeoutSeconds", 10},
                       {"clientConfig", {{"url", url}, {"caBundle", kube::encode_base64(ca)}}},
                       {"rules", rules}}})}};
    ASSERT_TRUE(ok(api().create(
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", configuration)));
    // The API server takes it up a moment later.
    ASSERT_TRUE(eventually([&] {
      json probe = asking("job_create", {{"pinion.dev/tasks", "none"}});
      probe["metadata"]["name"] = "probe";
      return !api().create("/apis/batch/v1/namespaces/default/jobs?dryRun=All", probe);
    }));
  }

  static bool eventually(const std::function<bool()>& condition) {
    return lab::eventually(lab::Milliseconds(60'000), condition);
  }
  json create(const std::string& path, const json& object) {
    auto made = api().create(path, object);
    EXPECT_TRUE(ok(made));
    return made ? *made : json::object();
  }

  static std::unique_ptr<FakeNodes>& fleet() {
    static std::unique_ptr<FakeNodes> nodes;
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

TEST_F(Webhook, AJobThatContradictsItselfIsRefusedInWords) {
  json job = asking("job_create", {{"pinion.dev/tasks", "eight"}});
  const auto refused = api().create(kJobs, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
  EXPECT_THAT(refused.error().text, HasSubstr("annotation pinion.dev/tasks: 'eight' is not"));
}

TEST_F(Webhook, AJobThatDoesNotAskStaysAsItIs) {
  json job = captured("job_create");
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

// The kinds whose controllers are not to be had here: the object as stored, and a worker's pod as
// their controller was captured making it, from the template that is stored.
struct Kind {
  const char* name;
  Crd crd;
  const char* job;
  const char* pod;
  json::json_pointer workers;  // where their number is
  json::json_pointer worker;   // their template
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class WebhookKinds : public Webhook, public testing::WithParamInterface<Kind> {};

TEST_P(WebhookKinds, AreCutAndTheirPodsAreToldTheirGroups) {
  const Kind& kind = GetParam();
  json job = asking(kind.job, {{"pinion.dev/job", "j1"},  // as its captured templates say
                               {"pinion.dev/tasks", "16"},
                               {"pinion.dev/task-groups", "2"}});
  job["metadata"]["name"] = kind.name;
  const json stored = create(path_of(kind.crd), job);
  // Four workers of four CPUs are stated in what was captured: they stay, and are marked.
  EXPECT_EQ(stored.at(kind.workers), 4);
  const json& worker = stored.at(kind.worker);
  EXPECT_EQ(json_text(worker, "metadata", "annotations", "pinion.dev/gang-size"), "4");
  EXPECT_EQ(json_text(worker, "metadata", "annotations", "pinion.dev/task-groups"), "2");
  EXPECT_EQ(json_text(worker, "metadata", "annotations", "pinion.dev/role"), "worker");

  json pod = captured(kind.pod);
  pod["metadata"]["annotations"].update(worker.at("metadata").at("annotations"));
  // Not stored: its owner is that of what was captured, and the garbage collector would not find
  // it.
  const json made = create("/api/v1/namespaces/default/pods?dryRun=All", pod);
  EXPECT_THAT(json_text(made, "metadata", "annotations", "pinion.dev/task-group"),
              testing::AnyOf("j1-0", "j1-1"));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, WebhookKinds,
    testing::Values(Kind{"mpi", kMpiJob, "mpijob_create", "mpijob_worker_pod",
                         json::json_pointer("/spec/mpiReplicaSpecs/Worker/replicas"),
                         json::json_pointer("/spec/mpiReplicaSpecs/Worker/template")},
                    Kind{"volcano", kVolcanoJob, "vcjob_create", "vcjob_worker_pod",
                         json::json_pointer("/spec/tasks/1/replicas"),
                         json::json_pointer("/spec/tasks/1/template")},
                    Kind{"jobset", kJobSet, "jobset_create", "jobset_worker_pod",
                         json::json_pointer("/spec/replicatedJobs/1/template/spec/parallelism"),
                         json::json_pointer("/spec/replicatedJobs/1/template/spec/template")}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pinion::e2e
