// The taint of nodes that wait for their agent.
#include "cluster/extender/program/startup_taint.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

json taint(const std::string& key, const std::string& effect = "NoSchedule") {
  return {{"key", key}, {"effect", effect}};
}

json node(const std::string& name, const json& taints) {
  return {{"metadata", {{"name", name}}}, {"spec", {{"taints", taints}}}};
}

struct PatchCase {
  const char* name;
  json node;
  std::vector<int> removed;  // places, in the order of the patch
};

TEST(StartupTaint, Patch) {
  const json ours = taint(kStartupTaint);
  const json other = taint("node.kubernetes.io/not-ready");
  const PatchCase cases[] = {
      {"nothing", json(), {}},
      {"no spec", {{"metadata", {{"name", "n"}}}}, {}},
      {"no list", node("n", "ours"), {}},
      {"no objects", node("n", json::array({1, nullptr, "pinion.dev/agent-not-ready"})), {}},
      {"others", node("n", json::array({other})), {}},
      {"a longer key", node("n", json::array({taint("pinion.dev/agent-not-ready2")})), {}},
      {"ours", node("n", json::array({ours})), {0}},
      {"ours among others", node("n", json::array({other, ours, other})), {1}},
      {"with two effects",
       node("n", json::array({ours, other, taint(kStartupTaint, "NoExecute")})),
       {2, 0}},
  };
  for (const PatchCase& c : cases) {
    SCOPED_TRACE(c.name);
    json expected = json::array();
    for (const int at : c.removed) {
      const std::string path = "/spec/taints/" + std::to_string(at);
      expected.push_back({{"op", "test"}, {"path", path + "/key"}, {"value", kStartupTaint}});
      expected.push_back({{"op", "remove"}, {"path", path}});
    }
    const auto patch = without_startup_taint(c.node);
    ASSERT_EQ(patch.has_value(), !c.removed.empty());
    if (!patch) continue;
    EXPECT_EQ(*patch, expected);
    json after = c.node;
    after.patch_inplace(*patch);
    EXPECT_FALSE(without_startup_taint(after));
  }
}

class StartupTaintTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "last"}) {
      server_.on(std::string("PATCH /api/v1/nodes/") + name, 200, json::object());
    }
  }
  std::unique_ptr<StartupTaint> start(std::chrono::milliseconds retry = 1h) {
    return std::make_unique<StartupTaint>(
        *api_, log_, [this] { return leads_.load(); }, StartupTaint::Options{.retry = retry});
  }
  static json tainted(const std::string& name) {
    return node(name, json::array({taint("other"), taint(kStartupTaint)}));
  }
  // What was patched before another node, which is tainted and ready, is.
  std::vector<std::string> patched(StartupTaint& taints) {
    taints.ready("last", true);
    taints.seen(kube::Change::kModified, tainted("last"));
    std::vector<std::string> targets;
    while (targets.empty() || targets.back() != "/api/v1/nodes/last") {
      const auto seen = server_.wait_for(targets.size() + 1);
      if (seen.size() <= targets.size()) break;
      targets.push_back(seen[targets.size()].target);
    }
    targets.pop_back();
    return targets;
  }

  kube::FakeApiServer server_;
  std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
  Log log_{"error", LogFormat::kText};
  std::atomic<bool> leads_ = true;
};

TEST_F(StartupTaintTest, IsTakenOnceTheAgentIsReady) {
  const auto taints = start();
  taints->seen(kube::Change::kModified, tainted("a"));
  taints->seen(kube::Change::kModified, tainted("b"));
  EXPECT_TRUE(patched(*taints).empty()) << "no agent is ready";
  taints->ready("a", true);
  const auto seen = server_.wait_for(2);
  EXPECT_EQ(seen.at(1).target, "/api/v1/nodes/a");
  EXPECT_EQ(seen.at(1).content_type, "application/json-patch+json");
  EXPECT_EQ(seen.at(1).json(), *without_startup_taint(tainted("a")));
}

TEST_F(StartupTaintTest, OfANodeThatIsSeenLaterThanItsAgent) {
  const auto taints = start();
  taints->ready("a", true);
  taints->seen(kube::Change::kModified, tainted("a"));
  EXPECT_EQ(server_.wait_for(1).at(0).target, "/api/v1/nodes/a");
}

struct Ended {
  const char* name;
  void (*end)(StartupTaint&);
};

class StartupTaintEnded : public StartupTaintTest, public testing::WithParamInterface<Ended> {};

TEST_P(StartupTaintEnded, IsLeftAlone) {
  const auto taints = start();
  taints->seen(kube::Change::kModified, tainted("a"));
  GetParam().end(*taints);
  EXPECT_TRUE(patched(*taints).empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, StartupTaintEnded,
    testing::Values(Ended{"a_lost_agent",
                          [](StartupTaint& taints) {
                            taints.seen(kube::Change::kDeleted, node("a", json::array()));
                            taints.ready("a", true);
                            taints.ready("a", false);
                            taints.seen(kube::Change::kModified,
                                        node("a", json::array({taint(kStartupTaint)})));
                          }},
                    Ended{"a_deleted_node",
                          [](StartupTaint& taints) {
                            taints.seen(kube::Change::kDeleted, node("a", json::array()));
                            taints.ready("a", true);
                          }},
                    Ended{"a_node_without_it",
                          [](StartupTaint& taints) {
                            taints.seen(kube::Change::kModified, node("a", json::array()));
                            taints.ready("a", true);
                          }}),
    [](const auto& one) { return one.param.name; });

TEST_F(StartupTaintTest, WaitsForTheLead) {
  leads_ = false;
  const auto taints = start(1ms);
  taints->ready("a", true);
  taints->seen(kube::Change::kModified, tainted("a"));
  EXPECT_TRUE(server_.seen().empty());
  leads_ = true;
  EXPECT_EQ(server_.wait_for(1).at(0).target, "/api/v1/nodes/a");
}

TEST_F(StartupTaintTest, IsTriedAgainWhereThePatchIsRefused) {
  server_.on("PATCH /api/v1/nodes/c", 422, kube::status_object(422, "Invalid", "test failed"));
  server_.on("PATCH /api/v1/nodes/c", 200, json::object());
  const auto taints = start(1ms);
  taints->ready("c", true);
  taints->seen(kube::Change::kModified, tainted("c"));
  EXPECT_EQ(server_.wait_for(2).at(1).target, "/api/v1/nodes/c");
}

}  // namespace
}  // namespace pinion::cluster
