// Streams of real agents' servers, which come, change, end and come back.
#include "cluster/extender/agents/agents.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "tests/unit/api/serving.h"

namespace pinion::cluster {
namespace {

using agent::api::eventually;
namespace api = agent::api;

// Keeps the last of what it is told.
class Recorder : public AgentSink {
 public:
  void reported(const std::string& node, NodeReport report) override {
    const std::lock_guard lock(mutex_);
    reports_[node] = std::move(report);
    ++reported_;
  }
  bool measured(const std::string&, MissRates rates) override {
    const std::lock_guard lock(mutex_);
    rates_ = std::move(rates);
    return !forgetful_;
  }
  bool heard(const std::string&) override { return !forgetful_; }
  void trouble(const std::string& node, const Error& error, std::chrono::milliseconds) override {
    const std::lock_guard lock(mutex_);
    troubles_[node] = error.text;
  }

  NodeReport report(const std::string& node) {
    const std::lock_guard lock(mutex_);
    return reports_[node];
  }
  std::string trouble_of(const std::string& node) {
    const std::lock_guard lock(mutex_);
    return troubles_[node];
  }
  MissRates rates() {
    const std::lock_guard lock(mutex_);
    return rates_;
  }
  int reported() {
    const std::lock_guard lock(mutex_);
    return reported_;
  }

  // Knows no node any more.
  void forget() { forgetful_ = true; }

 private:
  std::mutex mutex_;
  std::atomic<bool> forgetful_ = false;
  std::map<std::string, NodeReport> reports_;
  std::map<std::string, std::string> troubles_;
  MissRates rates_;
  int reported_ = 0;
};

class AgentsTest : public api::Serving {
 protected:
  static AgentOptions quick() {
    AgentOptions options;
    options.first_pause = std::chrono::milliseconds(5);
    options.longest_pause = std::chrono::milliseconds(20);
    options.seed = 1;
    return options;
  }

  // Named "a", on two CPUs.
  void serve_one_container() {
    agent::NodeView view = api::empty_view();
    ASSERT_TRUE(api::place(view, api::request("a", 2)));
    publish(view);
    start();
  }

  Recorder sink_;
  Agents agents_{sink_, quick()};
};

TEST_F(AgentsTest, ANodeIsReportedAndItsChangesToo) {
  agent::NodeView view = api::empty_view();
  ASSERT_TRUE(api::place(view, api::request("a", 2)));
  publish(view);
  start();
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink_.report("node-1").claims.size() == 1; }));
  const NodeReport first = sink_.report("node-1");
  EXPECT_EQ(first.name, "node-1") << "as Kubernetes calls it, not the host itself";
  ASSERT_NE(first.topology, nullptr);
  EXPECT_EQ(first.topology->online.count(), 8);
  EXPECT_EQ(first.claims[0].cpus.count(), 2);
  EXPECT_NE(first.claims[0].id.find('/'), std::string::npos) << first.claims[0].id;
  EXPECT_EQ(agents_.connected(), 1U);

  ++view.generation;
  ASSERT_TRUE(api::place(view, api::request("b", 3)));
  publish(view);
  ASSERT_TRUE(eventually([&] { return sink_.report("node-1").claims.size() == 2; }));

  Fleet fleet;
  EXPECT_TRUE(fleet.report(sink_.report("node-1"), 0)) << "the fleet takes it as it is";
}

TEST_F(AgentsTest, ANodeWhoseContainersAreNotKnownYetIsNotReported) {
  agent::NodeView view = api::empty_view();
  view.synchronized = false;
  publish(view);
  start();
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ++view.generation;
  view.phase = "connected";
  publish(view);
  ++view.generation;
  view.synchronized = true;
  ASSERT_TRUE(api::place(view, api::request("a", 2)));
  publish(view);
  ASSERT_TRUE(eventually([&] { return sink_.reported() > 0; }));
  EXPECT_EQ(sink_.reported(), 1);
  EXPECT_EQ(sink_.report("node-1").claims.size(), 1U);
}

TEST_F(AgentsTest, ANodeThatIsNotKnownAnyMoreIsReportedAgain) {
  serve_one_container();
  AgentOptions options = quick();
  options.rates = std::chrono::milliseconds(1);
  Agents agents(sink_, options);
  ASSERT_TRUE(agents.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink_.reported() == 1; }));
  sink_.forget();
  metrics::ContainerFigures measured = api::figures("a");
  measured.rates.l3_misses_per_second = 3e7;
  samples_.publish(std::make_shared<const metrics::Sample>(api::sample(1, {measured})));
  ASSERT_TRUE(eventually([&] { return sink_.reported() == 2; }));
  EXPECT_EQ(sink_.report("node-1").claims.size(), 1U);
}

TEST_F(AgentsTest, WhatIsMeasuredFollowsWithoutTheRest) {
  serve_one_container();
  AgentOptions options = quick();
  options.rates = std::chrono::milliseconds(1);
  Agents agents(sink_, options);
  ASSERT_TRUE(agents.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink_.report("node-1").claims.size() == 1; }));
  EXPECT_TRUE(sink_.report("node-1").rates.empty()) << "nothing is measured yet";
  const std::string claim = sink_.report("node-1").claims[0].id;
  const int before = sink_.reported();

  metrics::ContainerFigures measured = api::figures("a");
  measured.rates.l3_misses_per_second = 3e7;
  samples_.publish(std::make_shared<const metrics::Sample>(api::sample(1, {measured})));
  EXPECT_TRUE(eventually([&] { return sink_.rates() == MissRates{{claim, 3e7}}; }));
  EXPECT_EQ(sink_.reported(), before);
}

TEST_F(AgentsTest, AStreamThatEndsIsBegunAgain) {
  publish(api::empty_view());
  start();
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return agents_.connected() == 1; }));
  server_.reset();
  ASSERT_TRUE(eventually([&] { return !sink_.trouble_of("node-1").empty(); }));
  EXPECT_TRUE(eventually([&] { return agents_.connected() == 0; }));
  const int before = sink_.reported();
  start();
  EXPECT_TRUE(eventually([&] { return sink_.reported() > before; }));
}

TEST_F(AgentsTest, OnesThatAreNotFollowedAnyMoreAreSilent) {
  publish(api::empty_view());
  start();
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return agents_.connected() == 1; }));
  EXPECT_FALSE(agents_.follow({{.node = "node-2", .address = "nonsense"}}));
  EXPECT_EQ(agents_.connected(), 1U) << "an error changes nothing";
  ASSERT_TRUE(agents_.follow({{.node = "node-2", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink_.report("node-2").topology != nullptr; }));
  agents_.stop();
  const int before = sink_.reported();
  agent::NodeView view = api::empty_view();
  view.generation = 9;
  publish(view);
  EXPECT_EQ(sink_.reported(), before);
}

}  // namespace
}  // namespace pinion::cluster
