// The stand-ins themselves: that a pod really takes cores at the agent of its node, that others are
// told of it, and that a pod which does not fit is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "cluster/extender/agents/agents.h"
#include "tests/e2e/cluster_test.h"
#include "tests/e2e/fake_nodes.h"
#include "tests/support/machine.h"

namespace pinion::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// What the agents' streams say.
class Heard : public cluster::AgentSink {
 public:
  void reported(const std::string& node, cluster::NodeReport report) override {
    const std::lock_guard lock(mutex_);
    claims_[node] = report.claims.size();
    changed_.notify_all();
  }
  bool measured(const std::string&, cluster::MissRates) override { return true; }
  bool heard(const std::string&) override { return true; }
  void unlinked(const std::string&) override {}
  void connected(const std::string&) override {}
  void lost(const std::string&, const Error&) override {}

  bool wait(const std::function<bool(const std::map<std::string, std::size_t>&)>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return condition(claims_); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::size_t> claims_;  // by node
};

std::vector<cluster::AgentAddress> addresses(const FakeNodes& nodes) {
  std::vector<cluster::AgentAddress> all;
  for (const auto& [node, address] : nodes.addresses()) {
    all.push_back({.node = node, .address = address});
  }
  return all;
}

class FakeNodesTest : public ClusterTest<FakeNodesTest> {
 protected:
  // Two nodes of 2 x 16 cores.
  void SetUp() override {
    ClusterTest::SetUp();
    if (!ready()) return;
    auto nodes = FakeNodes::start(cluster().access(), place_of_, {"fake-a", "fake-b"},
                                  test_support::machine({.packages = 2, .cores_per_l3 = 16}));
    ASSERT_TRUE(ok(nodes));
    nodes_ = *std::move(nodes);
  }
  void TearDown() override {
    cluster().kill_scheduler();
    for (const char* node : {"fake-a", "fake-b"}) {
      EXPECT_TRUE(ok(admin().remove(std::string("/api/v1/nodes/") + node)));
    }
    ClusterTest::TearDown();
  }

  test_support::TempDir sockets_;
  const FakeNodes::PlaceOf place_of_ = FakeNodes::sockets_in(sockets_.path());
  std::unique_ptr<FakeNodes> nodes_;
};

TEST_F(FakeNodesTest, ABoundPodHoldsCoresUntilItIsDeleted) {
  Heard heard;
  cluster::Agents agents(heard, {});
  ASSERT_TRUE(ok(agents.follow(addresses(*nodes_))));
  ASSERT_TRUE(heard.wait([](const auto& claims) { return claims.size() == 2; }));

  const auto pod = admin().add_pod({.name = "rank", .milli_cpus = 4000});
  ASSERT_TRUE(ok(pod));
  ASSERT_TRUE(ok(kube::bind_pod(api(), *pod, "fake-b")));
  ASSERT_TRUE(nodes_->wait([&] { return nodes_->held().contains("rank"); }));
  const auto held = nodes_->held().at("rank");
  EXPECT_EQ(held.node, "fake-b");
  EXPECT_EQ(held.uid, pod->uid);
  EXPECT_EQ(held.cpus.count(), 4);
  EXPECT_TRUE(heard.wait([](const auto& claims) { return claims.at("fake-b") == 1; }));

  // Cut off and back: the stream is begun again.
  nodes_->cut("fake-b");
  ASSERT_TRUE(ok(admin().ask_pod_to_end("rank")));
  ASSERT_TRUE(nodes_->wait([&] { return nodes_->running() == 0; }));
  EXPECT_THAT(nodes_->held(), IsEmpty());
  ASSERT_TRUE(ok(nodes_->serve_at("fake-b", place_of_("fake-b"))));
  EXPECT_TRUE(heard.wait([](const auto& claims) { return claims.at("fake-b") == 0; }));
  EXPECT_THAT(nodes_->bounced(), IsEmpty());
}

// Three times 10 cores are 30 of 32 for the scheduler, but each NUMA node has room for one alone.
TEST_F(FakeNodesTest, ThePlainSchedulerSendsPodsThatBounce) {
  ASSERT_TRUE(ok(cluster().start_scheduler({})));
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(ok(admin().add_pod({.name = "wide-" + std::to_string(i),
                                    .milli_cpus = 10'000,
                                    .annotations = {{"pinion.dev/job", "wide"}}})));
  }
  EXPECT_TRUE(nodes_->wait([&] { return nodes_->running() == 6; }));
  EXPECT_THAT(nodes_->held(), SizeIs(4));
  ASSERT_THAT(nodes_->bounced(), SizeIs(2));
  EXPECT_THAT(nodes_->bounced().front().text, HasSubstr("NUMA"));
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(ok(admin().remove_pod("wide-" + std::to_string(i))));
}

}  // namespace
}  // namespace pinion::e2e
