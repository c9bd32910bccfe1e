// What a job's object says of its gang, and the hostfile that follows it.
#include "cluster/extender/program/job_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/eventually.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;
using test_support::eventually;

constexpr const char* kJob = "GET /apis/batch/v1/namespaces/n/jobs/wind";
constexpr const char* kMaps = "/api/v1/namespaces/n/configmaps";
constexpr const char* kMap = "/api/v1/namespaces/n/configmaps/wind-pinion";

// As the webhook has cut it: 8 tasks in so many pods.
json job(int workers, const std::string& uid = "o") {
  json object = json::parse(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"wind",
      "namespace":"n","annotations":{"pinion.dev/tasks":"8","pinion.dev/decided":"8 tasks",
      "pinion.dev/hostfile":"wind-pinion"}},"spec":{"completionMode":"Indexed",
      "template":{"spec":{"subdomain":"wind","containers":[{"name":"c"}]}}}})");
  object["metadata"]["uid"] = uid;
  object["spec"]["parallelism"] = object["spec"]["completions"] = workers;
  return object;
}

json map_of(const std::string& owner, const json& data) {
  return {
      {"metadata",
       {{"ownerReferences", json::array({{{"kind", "Job"}, {"name", "wind"}, {"uid", owner}}})}}},
      {"data", data}};
}

wire::PodSpecView member() {
  wire::PodSpecView pod;
  pod.uid = "u";
  pod.name_space = "n";
  pod.name = "wind-0";
  pod.controller = wire::Controller{.kind = "Job", .name = "wind", .uid = "o"};
  pod.annotations = {{"pinion.dev/job", "wind"}, {"pinion.dev/owner", "batch/v1/jobs/wind"}};
  return pod;
}

class JobFollowerTest : public testing::Test {
 protected:
  void follow(std::chrono::milliseconds first_pause = std::chrono::seconds(1)) {
    follower_ = std::make_unique<JobFollower>(
        *api_, log_,
        JobFollower::Asks{
            .may_act =
                [this] {
                  ++asked_;
                  return leads_.load();
                },
            .sized =
                [this](const std::string& gang, int members) {
                  EXPECT_EQ(gang, "n/wind o");
                  members_ = members;
                },
            .started =
                [this](const std::string& gang) {
                  EXPECT_TRUE(gang.starts_with("podgroup:native:n/pinion-o")) << gang;
                  return started_.load();
                },
            .lacks_members = [this](const std::string& /*gang*/) { return lacks_.load(); }},
        first_pause);
  }
  std::vector<kube::FakeApiServer::Seen> after(std::size_t requests) {
    return server_.wait_for(requests);
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  std::atomic<bool> leads_ = true;
  std::atomic<bool> started_ = false;
  std::atomic<bool> lacks_ = false;
  std::atomic<int> asked_ = 0;
  std::atomic<int> members_ = 0;
  std::unique_ptr<JobFollower> follower_;
};

TEST_F(JobFollowerTest, TellsTheSizeAndMakesTheHostfile) {
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  follow();
  follower_->changed(member());
  const auto seen = after(2);
  EXPECT_EQ(members_, 2);
  const json map = seen.at(1).json();
  EXPECT_EQ(map.at("data").at("hostfile"), "wind-0.wind slots=4\nwind-1.wind slots=4\n");
  EXPECT_EQ(map.at("metadata").at("ownerReferences").at(0).at("uid"), "o");
}

TEST_F(JobFollowerTest, FollowsWhatChangesMeanwhile) {
  server_.on(kJob, 200, job(4));
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 409, kube::status_object(409, "AlreadyExists", "it is"));
  server_.on(std::string("GET ") + kMap, 200, map_of("o", {{"hostfile", "of before"}}));
  server_.on(std::string("PATCH ") + kMap, 200, json::object());
  follow();
  follower_->changed(member());
  const auto first = after(4);
  EXPECT_EQ(members_, 4);
  EXPECT_EQ(first.at(3).method, "PATCH");
  EXPECT_EQ(first.at(3).content_type, "application/merge-patch+json");
  follower_->changed(member());
  const json second = after(8).at(7).json();
  EXPECT_EQ(members_, 2);
  EXPECT_EQ(second.at("data").at("hostfile"), "wind-0.wind slots=4\nwind-1.wind slots=4\n");
}

TEST_F(JobFollowerTest, WaitsForTheMapOfAnEarlierJobToGo) {
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 409, kube::status_object(409, "AlreadyExists", "it is"));
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  server_.on(std::string("GET ") + kMap, 200, map_of("older", json::object()));
  follow();
  follower_->changed(member());
  const auto seen = after(5);
  EXPECT_EQ(seen.at(2).method, "GET");
  EXPECT_EQ(seen.at(4).method, "POST");
}

TEST_F(JobFollowerTest, MakesThePodGroupOfItsPodsAndKeepsItsSize) {
  constexpr const char* groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/n/podgroups";
  json without_hostfile = job(4);
  without_hostfile["metadata"]["annotations"].erase("pinion.dev/hostfile");
  server_.on(kJob, 200, without_hostfile);
  without_hostfile["spec"]["parallelism"] = without_hostfile["spec"]["completions"] = 2;
  server_.on(kJob, 200, without_hostfile);
  server_.on(std::string("POST ") + groups, 201, json::object());
  server_.on(std::string("POST ") + groups, 409,
             kube::status_object(409, "AlreadyExists", "it is"));
  json stored = map_of("o", nullptr);
  stored["spec"] = {{"disruptionMode", {{"single", json::object()}}},
                    {"schedulingPolicy", {{"gang", {{"minCount", 4}}}}}};
  server_.on(std::string("GET ") + groups + "/pinion-o", 200, stored);
  server_.on(std::string("PATCH ") + groups + "/pinion-o", 200, json::object());
  follow();
  wire::PodSpecView pod = member();
  pod.scheduling_group = "pinion-o";
  pod.priority_class = "urgent";
  follower_->changed(pod);
  const json made = after(2).at(1).json();
  EXPECT_EQ(made.at("metadata").at("name"), "pinion-o");
  EXPECT_EQ(made.at("metadata").at("ownerReferences").at(0).at("uid"), "o");
  EXPECT_EQ(made.at("spec"), json::parse(R"({"schedulingPolicy":{"gang":{"minCount":4}},
                                             "priorityClassName":"urgent"})"));
  follower_->changed(pod);
  const json changed = after(6).at(5).json();
  EXPECT_EQ(changed.at("spec"), json::parse(R"({"schedulingPolicy":{"gang":{"minCount":2}}})"));
  started_ = true;
  follower_->changed(pod);
  EXPECT_EQ(after(10).at(9).json().at("spec"),
            json::parse(R"({"schedulingPolicy":{"gang":{"minCount":1}}})"))
      << "who comes later starts by itself";
}

TEST_F(JobFollowerTest, MakesAPodGroupThatIsRefusedOnceMoreAndTheHostfileMeanwhile) {
  constexpr const char* groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/n/podgroups";
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + groups, 403, kube::status_object(403, "Forbidden", "a quota"));
  server_.on(std::string("POST ") + groups, 201, json::object());
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  follow();
  wire::PodSpecView pod = member();
  pod.scheduling_group = "pinion-o";
  follower_->changed(pod);
  const auto seen = after(5);
  EXPECT_EQ(seen.at(1).target, groups);
  EXPECT_EQ(seen.at(2).target, kMaps);
  EXPECT_EQ(seen.at(4).target, groups);
}

TEST_F(JobFollowerTest, LeavesItsUsersPodGroupAlone) {
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  follow();
  wire::PodSpecView pod = member();
  pod.scheduling_group = "pinion-o-2";
  follower_->changed(pod);
  EXPECT_EQ(after(2).at(1).target, kMaps);
}

TEST_F(JobFollowerTest, CountsThoseWhoStillRun) {
  json object = job(4);
  object["status"]["succeeded"] = 3;
  server_.on(kJob, 200, object);
  object["status"]["succeeded"] = 4;
  server_.on(kJob, 200, object);
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  follow();
  follower_->changed(member());
  const json map = after(2).at(1).json();
  EXPECT_EQ(members_, 1);
  EXPECT_THAT(map.at("data").at("hostfile").get<std::string>(), testing::HasSubstr("wind-3.wind"));
  follower_->changed(member());
  after(4);
  EXPECT_EQ(members_, 1) << "no gang is of none";
}

// One whose object cannot be read delays nobody.
TEST_F(JobFollowerTest, AStuckJobDelaysNoOther) {
  server_.on("GET /apis/batch/v1/namespaces/n/jobs/stuck", 500,
             kube::status_object(500, "InternalError", "no"));
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  follow(std::chrono::minutes(1));
  wire::PodSpecView stuck = member();
  stuck.annotations["pinion.dev/owner"] = "batch/v1/jobs/stuck";
  follower_->changed(stuck);
  after(1);
  follower_->changed(member());
  EXPECT_EQ(after(3).at(2).target, kMaps) << "before the stuck one is tried again";
}

// The calls of a job may hang; those of two jobs of another namespace do, too.
TEST_F(JobFollowerTest, AJobWhoseCallsHangDelaysNoOther) {
  const std::pair<std::string, std::string> hanging[] = {{"n", "stuck"}, {"m", "a"}, {"m", "b"}};
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  follow(std::chrono::minutes(1));
  for (const auto& [name_space, name] : hanging) {
    server_.gate_on("GET /apis/batch/v1/namespaces/" + name_space + "/jobs/" + name);
    wire::PodSpecView stuck = member();
    stuck.name_space = name_space;
    stuck.annotations["pinion.dev/owner"] = "batch/v1/jobs/" + name;
    follower_->changed(stuck);
  }
  after(std::size(hanging));
  follower_->changed(member());
  EXPECT_EQ(after(std::size(hanging) + 2).back().target, kMaps);
}

// Of 4 pods a quota admits 2; then its user wants no more. No pod comes or goes.
TEST_F(JobFollowerTest, LooksAgainWhilePodsAreStillToCome) {
  lacks_ = true;
  server_.on(kJob, 200, job(4));
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  server_.on(std::string("GET ") + kMap, 200, map_of("o", json::object()));
  server_.on(std::string("PATCH ") + kMap, 200, json::object());
  follow(std::chrono::milliseconds(1));
  follower_->changed(member());
  EXPECT_TRUE(eventually([&] { return members_ == 2; }));
}

TEST_F(JobFollowerTest, DoesNothingBeforeItLeads) {
  leads_ = false;
  server_.on(kJob, 200, job(2));
  server_.on(std::string("POST ") + kMaps, 201, json::object());
  follow();
  follower_->changed(member());
  EXPECT_TRUE(eventually([&] { return asked_ >= 2; }));
  EXPECT_TRUE(server_.seen().empty());
  leads_ = true;
  after(2);
  EXPECT_EQ(members_, 2);
}

// An MPIJob's launcher, which the operator owns by a batch Job.
wire::PodSpecView launcher() {
  wire::PodSpecView pod;
  pod.uid = "l";
  pod.name_space = "n";
  pod.name = "wind-launcher-x";
  pod.labels = {{"training.kubeflow.org/job-name", "wind"}};
  pod.controller = wire::Controller{.kind = "Job", .name = "wind-launcher", .uid = "j"};
  pod.annotations = {{"pinion.dev/job", "wind"}};
  return pod;
}

constexpr const char* kLauncherJob = "GET /apis/batch/v1/namespaces/n/jobs/wind-launcher";
constexpr const char* kLauncherPod = "/api/v1/namespaces/n/pods/wind-launcher-x";

json launcher_job(const std::string& uid) {
  return {{"metadata",
           {{"name", "wind-launcher"},
            {"uid", uid},
            {"ownerReferences",
             json::array({{{"kind", "MPIJob"}, {"name", "wind"}, {"uid", "mpi"}}})}}}};
}

TEST_F(JobFollowerTest, TellsALauncherOfWhichJobItIs) {
  server_.on(kLauncherJob, 200, launcher_job("j"));
  server_.on(std::string("PATCH ") + kLauncherPod, 200, json::object());
  follow();
  follower_->changed(launcher());
  const json patch = after(2).at(1).json();
  EXPECT_EQ(patch.at("metadata").at("annotations").at("pinion.dev/owner-uid"), "mpi");
  EXPECT_EQ(patch.at("metadata").at("uid"), "l") << "that pod and no other";
  wire::PodSpecView told = launcher();
  told.annotations["pinion.dev/owner-uid"] = "mpi";
  follower_->changed(told);
  server_.on(kJob, 200, json::object());
  follower_->changed(member());
  EXPECT_EQ(after(3).at(2).target, "/apis/batch/v1/namespaces/n/jobs/wind") << "it is told already";
}

TEST_F(JobFollowerTest, ALauncherOfAJobThatIsGoneIsLeftAlone) {
  server_.on(kLauncherJob, 200, launcher_job("another"));
  server_.on(kJob, 200, json::object());
  follow();
  follower_->changed(launcher());
  after(1);
  follower_->changed(member());
  EXPECT_EQ(after(2).at(1).target, "/apis/batch/v1/namespaces/n/jobs/wind");
}

}  // namespace
}  // namespace pinion::cluster
