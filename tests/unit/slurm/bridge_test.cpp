// The bridge between an API server and commands of Slurm of the test's own.
#include "cluster/slurm/bridge.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cluster/slurm/node_count_json.h"
#include "cluster/slurm/site.h"
#include "tests/support/tree.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::slurm {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kPods = "/api/v1/namespaces/hpc/pods";
constexpr const char* kJobs = "/apis/batch/v1/namespaces/hpc/jobs";
constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/hpc/events";

bool never() {
  return false;
}

class BridgeTest : public testing::Test {
 protected:
  void SetUp() override {
    program("squeue", "if [ \"$1\" = --json ]; then cat " + file("jobs") +
                          "; else echo outline >>" + file("calls") + "; cat " + file("outline") +
                          "; fi");
    program("sinfo", "echo list >>" + file("calls") + "; sleep $(cat " + file("delay") + "); cat " +
                         file("nodes"));
    // Writes down what it is asked, and refuses what matches a line of the file.
    program("scontrol", "echo \"$*\" >>" + file("calls") + "\nif [ $1 = show ]; then cat " +
                            file("shown") + "; exit; fi\nif echo \"$*\" | grep -q -f " +
                            file("refused") +
                            "; then echo 'Invalid node name specified' >&2; exit 1; fi");
    path_ = std::getenv("PATH");
    setenv("PATH", (dir_.path().string() + ":" + path_).c_str(), 1);
    write("refused", "");
    write("outline", "");
    write("delay", "0");
    write("calls", "");
    write("nodes", R"({"nodes": [{"name": "n1", "state": "idle"}]})");
    write("jobs", R"({"jobs": [{"job_id": 12, "job_state": "PENDING", "priority": 0, "cpus": 1,
                                "submit_time": 500, "node_count": 1, "admin_comment": "pinion=wait"}]})");
    server_.on(std::string("POST ") + kEvents, 201, json::object());
  }
  void TearDown() override {
    bridge_.reset();
    setenv("PATH", path_.c_str(), 1);
  }

  // The API server has these.
  void start(const std::vector<json>& pods, Bridge::Pauses pauses) {
    const auto gate = server_.new_gate();
    const auto list_or_watch = [gate](const json& items) {
      return [gate, items](const auto& request, auto& response) {
        if (request.has_param("watch")) gate->wait();
        const json list = {{"metadata", {{"resourceVersion", "1"}}}, {"items", items}};
        response.set_content(request.has_param("watch") ? "" : list.dump(), "application/json");
      };
    };
    server_.on(std::string("GET ") + kPods, list_or_watch(pods));
    if (watched_) watch_ = server_.stream_on(std::string("GET ") + kPods);
    server_.on(std::string("GET ") + kEvents, list_or_watch(json::array()));
    server_.on(std::string("GET ") + kJobs, list_or_watch(counts_));
    write("config",
          "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
          "contexts:\n- {name: c, context: {cluster: c, user: u, namespace: hpc}}\n"
          "clusters:\n- {name: c, cluster: {server: '" +
              server_.access().endpoint.url() + "'}}\nusers:\n- {name: u, user: {token: t}}\n");
    config_.kubeconfig = file("config");
    config_.cluster = "wind";
    auto bridge = Bridge::start(config_, log_, pauses);
    ASSERT_TRUE(bridge) << bridge.error().text;
    bridge_ = *std::move(bridge);
    while (!bridge_->ready()) {
      bridge_->round(never);
      std::this_thread::sleep_for(1ms);
    }
  }
  // Until it is so.
  template <class Holds>
  void rounds_until(const Holds& holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!holds() && std::chrono::steady_clock::now() < end) {
      bridge_->round(never);
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(holds());
  }

  // So many in which Slurm tells all.
  void rounds(std::size_t count) {
    const std::size_t before = calls_with("list");
    rounds_until([&] { return calls_with("list") >= before + count; });
  }

  json placeholder(std::uint32_t job, const std::string& uid) const {
    Create create;
    create.job = create.pod.job = job;
    create.pod.attempt = std::to_string(job) + "-500-0-0";
    create.pod.name = "wind-" + create.pod.attempt + "-" + uid;
    create.nodes = std::make_shared<const std::vector<std::string>>(1, "n1");
    PodTemplate all;
    all.name_space = "hpc";
    all.cluster = "wind";
    json pod = pod_object(all, create);
    pod["metadata"]["uid"] = uid;
    pod["spec"]["nodeName"] = "n1";
    pod["status"]["phase"] = "Running";
    return pod;
  }

  std::size_t calls_with(const std::string& word) const {
    std::ifstream calls(file("calls"));
    std::size_t count = 0;
    for (std::string line; std::getline(calls, line);) {
      count += line.find(word) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  std::string last_order() const {
    std::ifstream calls(file("calls"));
    std::string last;
    for (std::string line; std::getline(calls, line);) {
      if (line != "list" && line != "outline") last = line;
    }
    return last;
  }
  std::vector<kube::FakeApiServer::Seen> seen(const std::string& method) {
    auto all = server_.seen();
    std::erase_if(all, [&](const auto& one) { return one.method != method; });
    return all;
  }

  std::string file(const std::string& name) const { return dir_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
  }

  std::vector<json> counts_;  // what the API server has of numbers of nodes
  bool watched_ = false;      // what happens to pods is sent through watch_
  std::shared_ptr<kube::Stream> watch_;
  kube::FakeApiServer server_;
  Config config_ = [] {
    Config config;
    config.poll = 1ms;
    return config;
  }();

 private:
  void program(const std::string& name, const std::string& text) const {
    write(name, "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
  }

  test_support::TempDir dir_;
  std::string path_;
  Log log_{"error", LogFormat::kText};

 protected:
  std::unique_ptr<Bridge> bridge_;  // last: it uses all above
};

TEST_F(BridgeTest, AJobWhoseNodesSlurmRefusesGivesThemBackAfterSomeTries) {
  write("refused", "ReqNodeList=n1\n");
  start({placeholder(12, "a")}, {.first = 1ms, .longest = 1ms});
  rounds_until([&] { return calls_with("Priority=0") > 0; });
  EXPECT_EQ(calls_with("ReqNodeList=n1"), 5U);
  EXPECT_THAT(last_order(), AllOf(HasSubstr("AdminComment=pinion=wait;attempt=1;failed=1;after="),
                                  HasSubstr("waits: Slurm does not take its nodes: ")));
  const auto events = seen("POST");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].json().at("reason"), "SlurmRefusesNodes");
  EXPECT_EQ(events[0].json().at("regarding").at("uid"), "a");
  EXPECT_THAT(events[0].json().at("note").get<std::string>(),
              AllOf(HasSubstr("job 12: Slurm does not take its nodes"),
                    HasSubstr("Invalid node name specified")));
  auto actions = bridge_->figures().actions;
  EXPECT_EQ(actions["place"].failed, 5U);
  EXPECT_EQ(actions["hold"].done, 1U);
}

TEST_F(BridgeTest, ThatKubernetesWouldMakePodsOfItsOwnIsToldAndTakenBack) {
  config_.elastic = true;
  write("jobs", R"({"jobs": [{"job_id": 12, "job_state": "PENDING", "priority": 0, "cpus": 1,
                              "submit_time": 500, "node_count": 1, "max_nodes": 2,
                              "comment": "moldable", "admin_comment": "pinion=wait"}]})");
  const std::string name = "wind-12-500-0-0-nodes";
  server_.on(std::string("POST ") + kJobs, 201, {{"spec", {{"suspend", true}}}});
  server_.on(std::string("DELETE ") + kJobs + "/" + name, 200, json::object());
  start({}, {.first = 1ms, .longest = 1ms});
  rounds_until([&] { return calls_with("elastic jobs need Kubernetes 1.32") > 0; });
  EXPECT_EQ(seen("POST").front().json().at("metadata").at("name"), name);
  EXPECT_FALSE(seen("DELETE").empty());
}

TEST_F(BridgeTest, AJobThatSlurmDoesNotShrinkTellsTheExtenderThatItKeepsItsNodes) {
  config_.elastic = true;
  write("jobs", R"({"jobs": [{"job_id": 12, "job_state": "RUNNING", "priority": 1, "cpus": 2,
                              "submit_time": 500, "node_count": 2, "max_nodes": 2,
                              "nodes": "n[1-2]", "batch_host": "n1", "batch_flag": true,
                              "comment": "elastic",
                              "admin_comment": "pinion=wait;since=1;sizes=1-2x1"}]})");
  write("refused", "NodeList=n1$\n");
  json other = placeholder(12, "b");
  other["spec"]["nodeName"] = "n2";
  Ask ask{.job = 12, .name = "wind-12-500-0-0-nodes", .attempt = "12-500-0-0", .shape = {}};
  ask.shape.nodes = 2;
  ask.most = 2;
  PodTemplate all;
  all.cluster = "wind";
  json count = job_object(all, ask);
  count["metadata"]["uid"] = "u";
  count["metadata"]["resourceVersion"] = "7";
  count["metadata"]["annotations"]["pinion.dev/wanted-workers"] = "1";
  count["spec"]["suspend"] = false;
  count["status"] = {{"active", 2}, {"ready", 2}};
  counts_ = {count};
  server_.on(std::string("PATCH ") + kJobs + "/" + ask.name, 200, json::object());
  start({placeholder(12, "a"), other}, {.first = 1ms, .longest = 1ms});
  rounds_until([&] { return !seen("PATCH").empty(); });
  EXPECT_EQ(seen("PATCH").front().json(), json::parse(R"({"metadata": {"resourceVersion": "7",
                            "annotations": {"pinion.dev/acknowledged-workers": "2"}}})"));
  EXPECT_GT(calls_with("keeps its nodes: scontrol update: Invalid node name"), 0U);
  EXPECT_TRUE(seen("DELETE").empty());
}

TEST_F(BridgeTest, WhereSlurmTakesNoOrderAtAllItDeletesThemItself) {
  write("refused", "JobId=12\n");
  const json pod = placeholder(12, "a");
  server_.on("DELETE " + std::string(kPods) + "/wind-12-500-0-0-a", 200, json::object());
  start({pod}, {.first = 1ms, .longest = 1ms});
  rounds_until([&] { return !seen("DELETE").empty(); });
  const std::size_t tries = calls_with("ReqNodeList=n1");
  EXPECT_EQ(tries, 5U);
  rounds(20);
  EXPECT_EQ(calls_with("ReqNodeList=n1"), tries) << "the next pause is that of a new attempt";
  auto actions = bridge_->figures().actions;
  EXPECT_EQ(actions["hold"].failed, 1U);
  EXPECT_EQ(actions["delete"].done, 1U);
}

TEST_F(BridgeTest, NewPlaceholdersAreNoNewBeginningForAJobThatSlurmRefuses) {
  write("refused", "JobId=12\n");
  config_.retry = 1ms;
  watched_ = true;
  const json pod = placeholder(12, "a");
  const json next = placeholder(12, "b");
  for (const char* uid : {"a", "b"}) {
    server_.on("DELETE " + std::string(kPods) + "/wind-12-500-0-0-" + uid, 200, json::object());
  }
  server_.on(std::string("POST ") + kPods, 201, json::object());
  start({pod}, {.first = 1ms, .longest = 1ms});
  rounds_until([&] { return seen("DELETE").size() == 1; });
  watch_->send_event("DELETED", pod);
  rounds_until([&] {
    const auto made = seen("POST");
    return std::any_of(made.begin(), made.end(),
                       [](const auto& one) { return one.target == kPods; });
  });
  watch_->send_event("ADDED", next);
  rounds_until([&] { return seen("DELETE").size() == 2; });
  EXPECT_EQ(calls_with("ReqNodeList=n1"), 5U + 1U);
}

TEST_F(BridgeTest, WhereSinfoTellsGroupsOfNodesScontrolIsAsked) {
  write("nodes", R"({"sinfo": [{"nodes": {"allocated": 0, "idle": 1}}]})");
  write("shown", R"({"nodes": [{"name": "n1", "state": ["IDLE"]}]})");
  start({placeholder(12, "a")}, {});
  rounds_until([&] { return calls_with("ReqNodeList=n1") > 0; });
  rounds_until([&] { return calls_with("show nodes --json") > 3; });
  EXPECT_EQ(calls_with("list"), 1U) << "and sinfo no more";
}

// A webhook that fails for it, say.
TEST_F(BridgeTest, APlaceholderThatCannotBeMadeKeepsNothingElseFromBeingDone) {
  write("jobs", R"({"jobs": [
      {"job_id": 12, "job_state": "PENDING", "priority": 0, "cpus": 1, "submit_time": 500,
       "node_count": 1, "admin_comment": "pinion=wait"},
      {"job_id": 13, "job_state": "PENDING", "priority": 0, "cpus": 1, "submit_time": 501,
       "node_count": 1, "admin_comment": "pinion=wait"}]})");
  std::atomic<int> made = 0;  // for job 13
  server_.on(std::string("POST ") + kPods, [&](const auto& request, auto& response) {
    const bool first = request.body.find("wind-12-") != std::string::npos;
    made += first ? 0 : 1;
    response.status = first ? 503 : 201;
    response.set_content("{}", "application/json");
  });
  server_.on("DELETE " + std::string(kPods) + "/wind-7-500-0-0-a", 200, json::object());
  start({placeholder(7, "a")}, {.first = 100ms, .longest = 1h});
  rounds_until([&] { return !seen("DELETE").empty(); });
  EXPECT_EQ(made, 0) << "and that before the pause is over";
  rounds_until([&] { return made > 0; });
}

TEST_F(BridgeTest, TellsPrometheusAndTheKubeletHowItIs) {
  write("jobs", R"({"jobs": [
      {"job_id": 12, "job_state": "PENDING", "priority": 0, "cpus": 1, "submit_time": 500,
       "node_count": 1, "admin_comment": "pinion=wait"},
      {"job_id": 13, "job_state": "PENDING", "priority": 0, "cpus": 1, "submit_time": 501,
       "node_count": 1, "admin_comment": "pinion=user-held"},
      {"job_id": 14, "job_state": "PENDING", "priority": 0, "admin_comment": "of others"}]})");
  start({placeholder(12, "a")}, {.first = 1ms, .longest = 1ms});
  rounds_until([&] { return bridge_->figures().release.count() > 0; });
  const auto site = Site::start("127.0.0.1:0", *bridge_);
  ASSERT_TRUE(site) << site.error().text;
  httplib::Client client("http://" + (*site)->address());
  for (const char* path : {"/livez", "/readyz"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << answer->body;
  }
  EXPECT_EQ(client.Get("/v1/fleet")->status, 404);
  const auto metrics = client.Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_THAT(metrics->body, HasSubstr("pinion_slurm_jobs{state=\"waiting\"} 2\n"));
  EXPECT_THAT(metrics->body, HasSubstr("pinion_slurm_placeholders{state=\"running\"} 1\n"));
  EXPECT_THAT(metrics->body, HasSubstr("pinion_slurm_nodes{state=\"serving\"} 1\n"));
  EXPECT_THAT(metrics->body, HasSubstr("{action=\"place\",result=\"failed\"} 0\n"));
  EXPECT_THAT(metrics->body, HasSubstr("release_delay_seconds_bucket{le=\"86400.0\"} 0\n"))
      << "that job was submitted in 1970";
  write("jobs", "none");
  rounds(1);
  EXPECT_EQ(bridge_->figures().slurm_silent, 1U);
}

TEST_F(BridgeTest, AListIsMadeOnceThereIsSomethingNew) {
  write("jobs", R"({"jobs": []})");
  config_.poll = 1h;
  start({}, {});
  rounds_until([&] { return calls_with("outline") > 0; });
  const std::size_t lists = calls_with("list");
  const std::size_t outlines = calls_with("outline");
  rounds_until([&] { return calls_with("outline") >= outlines + 5; });
  EXPECT_EQ(calls_with("list"), lists);
  write("outline", "12 PENDING 0 JobHeldUser\n");
  rounds(1);
  EXPECT_EQ(calls_with("list"), lists + 1);
}

TEST_F(BridgeTest, SlurmRestsAsLongAsAListTookWhateverIsNew) {
  write("jobs", R"({"jobs": []})");
  write("delay", "1");
  start({}, {});
  const std::size_t outlines = calls_with("outline");
  write("outline", "12 PENDING 0 JobHeldUser\n");
  EXPECT_GT(bridge_->round(never), 0ms);
  EXPECT_EQ(calls_with("list"), 1U);
  EXPECT_EQ(calls_with("outline"), outlines);
  rounds(1);
}

// Lists of many jobs are dear: one is made when the job can go on, not for each of its pods' steps.
TEST_F(BridgeTest, IsWokenWhenAllPlaceholdersOfAJobRun) {
  watched_ = true;
  std::vector<json> pods = {placeholder(12, "a"), placeholder(12, "b")};
  for (json& pod : pods) {
    pod["metadata"]["annotations"]["pinion.dev/gang-size"] = "2";
    pod["status"]["phase"] = "Pending";
  }
  start(pods, {});
  const auto told = [&] {
    eventfd_t count = 0;
    pollfd woken{.fd = bridge_->descriptor(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&woken, 1, 60'000), 1);
    EXPECT_EQ(eventfd_read(bridge_->descriptor(), &count), 0);
    return count;
  };
  for (json& pod : pods) {
    pod["status"]["reason"] = "a step on the way";
    watch_->send_event("MODIFIED", pod);
    pod["status"]["phase"] = "Running";
    watch_->send_event("MODIFIED", pod);
  }
  EXPECT_EQ(told(), 1U);
  pods[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  watch_->send_event("MODIFIED", pods[0]);
  EXPECT_EQ(told(), 1U) << "one is lost";
}

// Placeholders that no job has; 403 is the answer for one of them, 503 for all.
TEST_F(BridgeTest, WhatCannotBeDeletedIsTriedAgainWithPauses) {
  write("jobs", R"({"jobs": []})");
  for (const char* uid : {"a", "b"}) {
    server_.on("DELETE " + std::string(kPods) + "/wind-7-500-0-0-" + uid, 403,
               kube::status_object(403, "Forbidden", "no"));
  }
  start({placeholder(7, "a"), placeholder(7, "b")}, {.first = 1h, .longest = 1h});
  rounds(5);
  EXPECT_THAT(seen("DELETE"), SizeIs(2)) << "once each";
}

TEST_F(BridgeTest, AnApiServerThatDoesNotAnswerIsNotAskedForEachPlaceholder) {
  write("jobs", R"({"jobs": []})");
  for (const char* uid : {"a", "b", "c"}) {
    server_.on("DELETE " + std::string(kPods) + "/wind-7-500-0-0-" + uid, 503,
               kube::status_object(503, "ServiceUnavailable", "later"));
  }
  start({placeholder(7, "a"), placeholder(7, "b"), placeholder(7, "c")},
        {.first = 1h, .longest = 1h});
  rounds(5);
  EXPECT_THAT(seen("DELETE"), SizeIs(1));
}

}  // namespace
}  // namespace pinion::slurm
