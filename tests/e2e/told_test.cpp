// What users are told of jobs and pods that cannot start, and of names that the API server makes:
// the warning as kubectl gets it, the refusal, the Events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "tests/e2e/controllers.h"
#include "tests/e2e/crd.h"
#include "tests/e2e/webhook_scene.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using kube::json_text;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

// Four nodes of two NUMA nodes of 16 CPUs.
class Told : public WebhookScene {
 protected:
  // As kubectl creates it: what the API server warns of; empty: nothing.
  std::string warning_at_creation(const std::string& path, const json& object) {
    const kube::Access access = cluster().access();
    httplib::SSLClient client(access.endpoint.host, access.endpoint.port);
    client.enable_server_certificate_verification(false);
    client.set_bearer_token_auth(access.token);
    const auto answer = client.Post(path, object.dump(), "application/json");
    EXPECT_TRUE(answer);
    if (!answer) return {};
    EXPECT_EQ(answer->status, 201) << answer->body;
    return answer->get_header_value("Warning");
  }
  json create(const std::string& path, const json& object) {
    auto made = admin().api().create(path, object);
    EXPECT_TRUE(ok(made));
    return made ? *std::move(made) : json::object();
  }
  static json job_of(const std::string& name, int workers, int cpus) {
    json job = captured("job_create", name);
    job["metadata"]["annotations"] = {{"pinion.dev/tasks", std::to_string(workers * cpus)}};
    job["spec"]["parallelism"] = job["spec"]["completions"] = workers;
    const json amounts = {{"cpu", std::to_string(cpus)}, {"memory", "1Gi"}};
    job["spec"]["template"]["spec"]["containers"][0]["resources"] = {{"limits", amounts},
                                                                     {"requests", amounts}};
    return job;
  }

  // What NeverFits says of the pods whose names begin so, of each Event.
  std::vector<std::string> never_fits(const std::string& beginning) {
    std::vector<std::string> notes;
    for (const auto& [name, event] : events_->now()) {
      if (json_text(event, "reason") == "NeverFits" &&
          json_text(event, "regarding", "name").starts_with(beginning)) {
        notes.push_back(json_text(event, "note"));
      }
    }
    return notes;
  }
  // As soon as there is one.
  std::string never_fits_once(const std::string& beginning) {
    EXPECT_TRUE(lab::eventually(kPatience, [&] { return !never_fits(beginning).empty(); }));
    const auto notes = never_fits(beginning);
    return notes.empty() ? std::string() : notes.front();
  }

  void SetUp() override {
    WebhookScene::SetUp();
    if (IsSkipped() || HasFailure()) return;
    events_ = std::make_unique<Collection>(admin().api(),
                                           "/apis/events.k8s.io/v1/namespaces/default/events");
  }
  void TearDown() override {
    events_.reset();
    WebhookScene::TearDown();
  }

  std::unique_ptr<Collection> events_;
};

TEST_F(Told, AJobThatCanNeverFitIsWarnedOfWhenItIsCreatedAndByAnEvent) {
  EXPECT_EQ(warning_at_creation(kJobs, job_of("fits", 4, 16)), "");
  const std::string why =
      "needs 9 x 16 CPUs and 1 GiB in one NUMA node; even with nothing running there is room for 4";
  EXPECT_THAT(warning_at_creation(kJobs, job_of("huge", 9, 16)),
              HasSubstr("it cannot start on these nodes: " + why));
  EXPECT_THAT(never_fits_once("huge-"), HasSubstr(why));
  ASSERT_TRUE(run(pods_called("fits-", 4))) << "it holds nobody up";
  EXPECT_THAT(never_fits("huge-"), SizeIs(1)) << "on one pod of nine";
  EXPECT_THAT(never_fits("fits-"), IsEmpty());
}

// kube-scheduler counts the CPUs of nodes itself and asks about none of them.
TEST_F(Told, APodThatKubeSchedulerAloneRefusesHasTheReasonInAnEvent) {
  add(PodShape{.name = "large", .milli_cpus = 33'000});
  ASSERT_TRUE(wait_in_vain({"large"}));
  EXPECT_THAT(why_unscheduled(pods().now().at("large")), HasSubstr("Insufficient cpu"));
  const std::string why =
      "needs 1 x 33 CPUs on one node; no node could give that even with nothing running, largest "
      "31";
  EXPECT_THAT(never_fits_once("large"), HasSubstr(why));
  EXPECT_EQ(extender().figure("pinion_extender_never_fit_total"), 1);
  EXPECT_EQ(extender().figure(R"(pinion_extender_filters_total{result="refused"})"), 0);
  // Full nodes are another matter.
  ASSERT_TRUE(run(fill_cores({15, 15, 15, 15, 15, 15, 15, 15})));
  add(PodShape{.name = "waits", .milli_cpus = 4000});
  ASSERT_TRUE(wait_in_vain({"waits"}));
  ASSERT_TRUE(ok(admin().api().patch(kube::pod_path("default", "large"), kube::PatchKind::kMerge,
                                     {{"metadata", {{"labels", {{"seen", "again"}}}}}})));
  // Looked at after these two.
  add(PodShape{.name = "later", .milli_cpus = 34'000});
  EXPECT_THAT(never_fits_once("later"), HasSubstr("needs 1 x 34 CPUs"));
  EXPECT_THAT(never_fits("waits"), IsEmpty());
  EXPECT_THAT(never_fits("large"), SizeIs(1));
}

// The example of docs/kubernetes.md. Four CPUs are free in each NUMA node.
TEST_F(Told, APodsRefusalSaysWhatIsShortAndHowMuchIsThere) {
  fill_nodes(4);
  add(PodShape{
      .name = "wide", .milli_cpus = 8000, .annotations = {{"pinion.dev/strength", "required"}}});
  ASSERT_TRUE(wait_in_vain({"wide"}));
  EXPECT_THAT(why_unscheduled(pods().now().at("wide")),
              HasSubstr("0/4 nodes are available: 4 needs 8 CPUs and 64 MiB in one NUMA node; too "
                        "few CPUs are free: at most 4 CPUs in one NUMA node."));
}

TEST_F(Told, AJobAndPodsWhoseNamesTheApiServerMakesStart) {
  json job = job_of("", 4, 4);
  job["metadata"].erase("name");
  job["metadata"]["generateName"] = "wave-";
  job["spec"]["template"]["metadata"].erase("annotations");
  const json stored = create(kJobs, job);
  const std::string name = json_text(stored, "metadata", "name");
  ASSERT_THAT(name, testing::StartsWith("wave-"));
  const auto workers = pods_called(name + "-", 4);
  ASSERT_TRUE(run(workers));
  const auto all = pods().now();
  for (const std::string& worker : workers) {
    EXPECT_EQ(json_text(all.at(worker), "metadata", "annotations", "pinion.dev/job"), name);
  }
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    json pod =
        pod_object({.name = "",
                    .milli_cpus = 8000,
                    .annotations = {{"pinion.dev/job", "pair"}, {"pinion.dev/gang-size", "2"}}});
    pod["metadata"].erase("name");
    pod["metadata"]["generateName"] = "pair-";
    names.push_back(json_text(create(kPods, pod), "metadata", "name"));
  }
  EXPECT_TRUE(run(names));
}

// JobSet makes the other pods of a Job when its first one has been scheduled, and the first one of
// a gang waits for the others.
TEST_F(Told, AGangWithJobSetsExclusivePlacementIsRefusedUnlessAllItsPodsAreMadeAtOnce) {
  constexpr const char* topology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
  json set = captured("jobset_create", "rows");
  set["metadata"]["annotations"] = {{"pinion.dev/tasks", "16"}, {topology, "rack"}};
  const auto refused = admin().api().create(path_of(kJobSet), set);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
  EXPECT_THAT(refused.error().text, HasSubstr("it would wait for ever"));
  EXPECT_THAT(refused.error().text, HasSubstr(topology));
  set["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/node-selector"] = "true";
  const json stored = create(path_of(kJobSet), set);
  for (const json& job : workers_of(stored)) create(kJobs, job);
  EXPECT_TRUE(run(pods_called("rows-workers-", 4)));
}

}  // namespace
}  // namespace pinion::e2e
