// What the pod scheduler wants done at the API server.
#include "cluster/extender/program/kube_cluster.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

constexpr const char* kGatedPod = "PATCH /api/v1/namespaces/n/pods/p";

class KubeClusterTest : public testing::Test {
 protected:
  // Its node is named, and then its gate goes; the answer to the first comes from this handler.
  void open(kube::FakeApiServer::Handler nominated, bool already = false) {
    server_.on(std::string(kGatedPod) + "/status", std::move(nominated));
    server_.on(kGatedPod, 200, json::object());
    KubeCluster cluster(*api_, log_, [this] { return leads_.load(); }, {});
    cluster.open(
        {.pod = {.name_space = "n", .name = "p", .uid = "u"}, .node = "a", .nominated = already});
    server_.wait_for(1);  // what is under way is waited for at the end
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  std::atomic<bool> leads_ = true;
};

TEST_F(KubeClusterTest, APodIsNominatedBeforeItsGateGoes) {
  open([](const auto&, auto& response) { response.set_content("{}", "application/json"); });
  const auto seen = server_.wait_for(2);
  EXPECT_EQ(seen.at(0).json()["status"]["nominatedNodeName"], "a");
  EXPECT_EQ(seen.at(1).target, "/api/v1/namespaces/n/pods/p");
}

// An API server that takes longer than a call may has done it all the same.
TEST_F(KubeClusterTest, APodThatIsNominatedIsNotNominatedAgain) {
  open([](const auto&, auto& response) { response.status = 500; }, /*already=*/true);
  const auto seen = server_.seen();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].target, "/api/v1/namespaces/n/pods/p");
}

TEST_F(KubeClusterTest, TheGateStaysWhenTheLeadIsLostMeanwhile) {
  open([this](const auto&, auto& response) {
    leads_ = false;
    response.set_content("{}", "application/json");
  });
  EXPECT_EQ(server_.seen().size(), 1U);
}

}  // namespace
}  // namespace pinion::cluster
