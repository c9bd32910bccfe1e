// NodeResourceTopology objects at the API server.
#include "cluster/extender/program/node_topologies.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "tests/support/eventually.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test_support::eventually;

const std::string kPath = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";

json object_of(const std::string& name, int value = 0) {
  return {{"metadata", {{"name", name}}}, {"value", value}};
}

class NodeTopologiesTest : public testing::Test {
 protected:
  void serve(const std::string& name) {
    server_.on("PATCH " + kPath + "/" + name, 200, json::object());
  }
  void set(std::vector<json> objects) {
    const std::lock_guard lock(mutex_);
    objects_ = std::move(objects);
  }
  std::unique_ptr<NodeTopologies> start(int most = 20) {
    return std::make_unique<NodeTopologies>(
        *api_, log_, [this] { return leads_.load(); },
        [this] {
          const std::lock_guard lock(mutex_);
          ++looks_;
          return objects_;
        },
        NodeTopologies::Options{.every = 1ms, .most = most, .again = 1h});
  }
  // So many more rounds have begun, and all before them are over.
  void wait_for_rounds(int count) {
    const int until = looks_ + count + 1;
    EXPECT_TRUE(eventually([&] { return looks_ >= until; }));
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  std::atomic<bool> leads_ = true;
  std::atomic<int> looks_ = 0;
  std::mutex mutex_;
  std::vector<json> objects_;
};

TEST_F(NodeTopologiesTest, AreWrittenOnceAndWhenTheyChange) {
  serve("a");
  serve("b");
  set({object_of("a"), object_of("b")});
  const auto writing = start();
  auto seen = server_.wait_for(2);
  EXPECT_EQ(seen.at(0).target, kPath + "/a");
  EXPECT_EQ(seen.at(0).content_type, "application/merge-patch+json");
  EXPECT_EQ(seen.at(0).json(), object_of("a"));
  wait_for_rounds(2);
  EXPECT_EQ(server_.seen().size(), 2U) << "nothing has changed";
  set({object_of("a"), object_of("b", 1)});
  seen = server_.wait_for(3);
  EXPECT_EQ(seen.at(2).json(), object_of("b", 1));
}

TEST_F(NodeTopologiesTest, AreMadeWhereThereAreNone) {
  server_.on("POST " + kPath, 201, json::object());
  set({object_of("a")});
  const auto writing = start();
  const auto seen = server_.wait_for(2);
  EXPECT_EQ(seen.at(1).method, "POST");
  EXPECT_EQ(seen.at(1).json(), object_of("a"));
  wait_for_rounds(2);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(NodeTopologiesTest, AreWrittenAFewAtATimeAndEachInItsTurn) {
  std::vector<json> objects;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    serve(name);
    objects.push_back(object_of(name));
  }
  set(objects);
  const auto writing = start(2);
  std::set<std::string> targets;
  for (const auto& one : server_.wait_for(5)) targets.insert(one.target);
  EXPECT_EQ(targets.size(), 5U);
}

TEST_F(NodeTopologiesTest, WaitForTheLead) {
  serve("a");
  set({object_of("a")});
  leads_ = false;
  const auto writing = start();
  EXPECT_EQ(looks_, 0);
  leads_ = true;
  EXPECT_EQ(server_.wait_for(1).at(0).target, kPath + "/a");
}

TEST_F(NodeTopologiesTest, AreTriedAgain) {
  server_.on("PATCH " + kPath + "/a", 500, kube::status_object(500, "InternalError", "no"));
  serve("a");
  set({object_of("a")});
  const auto writing = start();
  EXPECT_EQ(server_.wait_for(2).at(1).target, kPath + "/a");
}

}  // namespace
}  // namespace pinion::cluster
