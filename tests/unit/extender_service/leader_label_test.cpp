// The label by which a Service finds the leader.
#include "cluster/extender/program/leader_label.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

constexpr const char* kPods = "/api/v1/namespaces/pinion-system/pods";

json labels(const json& value) {
  return {{"metadata", {{"labels", {{"pinion.dev/leader", value}}}}}};
}

std::string patch_of(const std::string& pod) {
  return std::string("PATCH ") + kPods + "/" + pod;
}

class LeaderLabelTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.on(std::string("GET ") + kPods, 200,
               {{"items", json::array({{{"metadata", {{"name", "own"}}}},
                                       {{"metadata", {{"name", "old"}}}}})}});
  }
  std::unique_ptr<LeaderLabel> start() {
    for (const char* pod : {"own", "old"}) server_.on(patch_of(pod), 200, json::object());
    return std::make_unique<LeaderLabel>(
        *api_, kube::PodRef{.name_space = "pinion-system", .name = "own", .uid = {}},
        [this] { return leads_.load(); }, log_);
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  std::atomic<bool> leads_ = false;
};

// What the same pod's process before us has left.
TEST_F(LeaderLabelTest, AFollowerTakesItsOwnAway) {
  const auto label = start();
  const auto seen = server_.wait_for(1);
  EXPECT_EQ(seen.at(0).target, std::string(kPods) + "/own");
  EXPECT_EQ(seen.at(0).json(), labels(nullptr));
}

TEST_F(LeaderLabelTest, ALeaderTakesItFromOthersFirst) {
  const auto label = start();
  server_.wait_for(1);
  leads_ = true;
  const auto seen = server_.wait_for(4);
  EXPECT_EQ(seen.at(1).target, std::string(kPods) + "?labelSelector=pinion.dev%2Fleader%3Dtrue");
  EXPECT_EQ(seen.at(2).target, std::string(kPods) + "/old");
  EXPECT_EQ(seen.at(2).json(), labels(nullptr));
  EXPECT_EQ(seen.at(3).target, std::string(kPods) + "/own");
  EXPECT_EQ(seen.at(3).json(), labels("true"));
}

TEST_F(LeaderLabelTest, WhatIsRefusedIsTriedAgain) {
  server_.on(patch_of("own"), 500, kube::status_object(500, "InternalError", "not now"));
  const auto label = start();
  const auto seen = server_.wait_for(2);
  EXPECT_EQ(seen.at(1).json(), labels(nullptr));
}

}  // namespace
}  // namespace pinion::cluster
