// Pods that their agent refuses are evicted, so that their controller makes others.
#include "cluster/extender/program/refused_pods.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/eventually.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test_support::eventually;

constexpr const char* kEvictions = "/api/v1/namespaces/n/pods/p/eviction";
constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/n/events";
constexpr const char* kWhy = "pinion refuses container c of pod n/p: no room";

std::string post(const char* path) {
  return std::string("POST ") + path;
}

wire::PodSpecView refused(const std::string& kind = "Job") {
  wire::PodSpecView pod;
  pod.uid = "u";
  pod.name_space = "n";
  pod.name = "p";
  pod.refused = kWhy;
  if (!kind.empty()) pod.controller = wire::Controller{.kind = kind, .name = "owner", .uid = "o"};
  return pod;
}

class RefusedPodsTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.on(post(kEvictions), 201, json::object());
    server_.on(post(kEvents), 201, json::object());
  }
  std::unique_ptr<RefusedPods> start(std::chrono::milliseconds after = 1ms) {
    return std::make_unique<RefusedPods>(
        *api_, log_,
        [this] {
          ++asked_;
          return leads_.load();
        },
        RefusedPods::Options{.after = after, .retry = 1ms, .reporter = {.instance = "e"}});
  }
  // Another pod that is refused: when it is evicted, all that was due before has been looked at.
  void flush(RefusedPods& pods) {
    server_.on("POST /api/v1/namespaces/n/pods/last/eviction", 201, json::object());
    wire::PodSpecView last = refused();
    last.uid = last.name = "last";
    const std::size_t before = server_.seen().size();
    pods.seen(last);
    server_.wait_for(before + 2);
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  std::atomic<bool> leads_ = true;
  std::atomic<int> asked_ = 0;
};

TEST_F(RefusedPodsTest, AreEvictedWithAnEvent) {
  const auto pods = start();
  pods->seen(refused());
  const auto seen = server_.wait_for(2);
  EXPECT_EQ(seen.at(0).target, kEvictions);
  EXPECT_EQ(seen.at(0).json().at("deleteOptions"), json({{"preconditions", {{"uid", "u"}}}}));
  EXPECT_EQ(seen.at(1).target, kEvents);
  EXPECT_EQ(seen.at(1).json().at("note"), kWhy);
  EXPECT_EQ(seen.at(1).json().at("reportingInstance"), "e");
  flush(*pods);
  EXPECT_GE(pods->evicted(), 1U);
}

TEST_F(RefusedPodsTest, ThatNobodyMakesAnewElsewhereStay) {
  const auto pods = start();
  for (const char* kind : {"", "DaemonSet", "Node"}) pods->seen(refused(kind));
  flush(*pods);
  EXPECT_EQ(server_.seen().at(0).target, "/api/v1/namespaces/n/pods/last/eviction");
}

TEST_F(RefusedPodsTest, StayWhereTheSettingSaysSo) {
  const auto pods = start(0ms);
  pods->seen(refused());
  EXPECT_EQ(pods->evicted(), 0U);
  EXPECT_EQ(asked_, 0);
}

struct Gone {
  const char* name;
  void (*end)(RefusedPods&);
};

class RefusedPodsGone : public RefusedPodsTest, public testing::WithParamInterface<Gone> {};

// While another replica leads, so that the pod is due and nothing is done yet.
TEST_P(RefusedPodsGone, AreForgotten) {
  leads_ = false;
  const auto pods = start();
  pods->seen(refused());
  GetParam().end(*pods);
  leads_ = true;
  flush(*pods);
  EXPECT_EQ(server_.seen().at(0).target, "/api/v1/namespaces/n/pods/last/eviction");
}

INSTANTIATE_TEST_SUITE_P(All, RefusedPodsGone,
                         testing::Values(Gone{"deleted", [](RefusedPods& pods) { pods.gone("u"); }},
                                         Gone{"being_deleted",
                                              [](RefusedPods& pods) {
                                                wire::PodSpecView pod = refused();
                                                pod.deleting = true;
                                                pods.seen(pod);
                                              }},
                                         Gone{"started",
                                              [](RefusedPods& pods) {
                                                wire::PodSpecView pod = refused();
                                                pod.refused.clear();
                                                pods.seen(pod);
                                              }}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(RefusedPodsTest, AreLeftToTheLeader) {
  leads_ = false;
  const auto pods = start();
  pods->seen(refused());
  EXPECT_TRUE(eventually([&] { return asked_ >= 3; }));
  EXPECT_TRUE(server_.seen().empty());
  leads_ = true;
  EXPECT_EQ(server_.wait_for(1).at(0).target, kEvictions);
}

TEST_F(RefusedPodsTest, AreTriedAgainWhileABudgetForbidsIt) {
  kube::FakeApiServer server;
  server.on(post(kEvictions), 429, kube::status_object(429, "TooManyRequests", "not now"));
  server.on(post(kEvictions), 201, json::object());
  server.on(post(kEvents), 201, json::object());
  const auto api = *kube::Api::create(server.access());
  RefusedPods pods(*api, log_, [] { return true; },
                   {.after = 1ms, .retry = 1ms, .reporter = {.instance = "e"}});
  pods.seen(refused());
  EXPECT_EQ(server.wait_for(3).at(2).target, kEvents);
}

}  // namespace
}  // namespace pinion::cluster
