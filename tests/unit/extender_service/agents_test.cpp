// Streams of real agents' servers, which come, change, end and come back.
#include "cluster/extender/agents/agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <mutex>

#include "cluster/extender/program/learnt_profiles.h"
#include "tests/unit/api/certificates.h"
#include "tests/unit/api/serving.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::cluster {
namespace {

using agent::api::eventually;
using testing::ElementsAre;
using testing::HasSubstr;
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
  void unlinked(const std::string& node) override {
    const std::lock_guard lock(mutex_);
    news_.push_back(node + " has no runtime");
  }
  [[nodiscard]] bool wants_uses() const override { return true; }
  void used(const std::string&, const std::vector<ContainerUse>& uses) override {
    const std::lock_guard lock(mutex_);
    uses_ = uses;
  }
  void connected(const std::string& node) override {
    const std::lock_guard lock(mutex_);
    news_.push_back(node + " is connected");
  }
  void lost(const std::string& node, const Error& why) override {
    const std::lock_guard lock(mutex_);
    news_.push_back(node + " is lost");
    why_lost_[node] = why.text;
  }

  NodeReport report(const std::string& node) {
    const std::lock_guard lock(mutex_);
    return reports_[node];
  }
  std::string why_lost(const std::string& node) {
    const std::lock_guard lock(mutex_);
    return why_lost_[node];
  }
  std::vector<std::string> news() {
    const std::lock_guard lock(mutex_);
    return news_;
  }
  MissRates rates() {
    const std::lock_guard lock(mutex_);
    return rates_;
  }
  std::vector<ContainerUse> uses() {
    const std::lock_guard lock(mutex_);
    return uses_;
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
  std::map<std::string, std::string> why_lost_;
  std::vector<std::string> news_;  // of agents that come and go
  MissRates rates_;
  std::vector<ContainerUse> uses_;
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
  EXPECT_TRUE(eventually([&] { return agents_.connected() == 1; }))
      << "which is said once its first report is taken";

  ++view.generation;
  ASSERT_TRUE(api::place(view, api::request("b", 3)));
  publish(view);
  ASSERT_TRUE(eventually([&] { return sink_.report("node-1").claims.size() == 2; }));

  Fleet fleet;
  EXPECT_TRUE(fleet.report(sink_.report("node-1"), 0)) << "the fleet takes it as it is";
}

TEST_F(AgentsTest, WhatANodeKeepsForAPodIsReportedWithoutAName) {
  agent::NodeView view = api::empty_view();
  ASSERT_TRUE(api::place(view, api::request("sandbox/", 2)));
  view.containers[0].pod_uid = "uid";
  view.containers[0].name.clear();
  publish(view);
  start();
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink_.report("node-1").claims.size() == 1; }));
  EXPECT_EQ(sink_.report("node-1").claims[0].id, "uid/");
  EXPECT_EQ(sink_.report("node-1").claims[0].cpus.count(), 2);
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

TEST_F(AgentsTest, ANodeWhoseAgentLosesItsRuntimeIsToldOnceUntilItIsBack) {
  agent::NodeView view = api::empty_view();
  publish(view);
  start();
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink_.reported() == 1; }));
  view.synchronized = false;
  for (const char* phase : {"registering", "disconnected", "disconnected"}) {
    ++view.generation;
    view.phase = phase;
    publish(view);
  }
  ASSERT_TRUE(eventually([&] { return sink_.news().size() > 1; }));
  ++view.generation;
  view.synchronized = true;
  view.phase = "synchronized";
  publish(view);
  ASSERT_TRUE(eventually([&] { return sink_.reported() == 2; }));
  EXPECT_THAT(sink_.news(), ElementsAre("node-1 is connected", "node-1 has no runtime"));
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

TEST_F(AgentsTest, WhatContainersOfJobsHaveUsedIsToldWithEachMessage) {
  agent::NodeView view = api::empty_view();
  topology::Request rank = api::request("a", 2);
  rank.job = "wind";
  topology::Request odd = api::request("b", 1);
  odd.job = "no name of Kubernetes";
  for (const auto& one : {rank, odd, api::request("c", 1)}) ASSERT_TRUE(api::place(view, one));
  api::add(view, api::shared_container("d"));
  publish(view);
  start();
  AgentOptions options = quick();
  options.rates = std::chrono::milliseconds(1);
  Agents agents(sink_, options);
  ASSERT_TRUE(agents.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink_.uses().size() == 1; }));
  const ContainerUse first = sink_.uses()[0];
  EXPECT_EQ(first.job, "default/wind");
  EXPECT_EQ(first.id, "a");
  EXPECT_EQ(first.cpus, 2);
  EXPECT_FALSE(first.used_s) << "nothing is measured yet";

  metrics::ContainerFigures measured = api::figures("a");
  measured.cpu_user_ns = 3'000'000'000;
  measured.cpu_system_ns = 500'000'000;
  measured.voluntary_switches = 70;
  samples_.publish(std::make_shared<const metrics::Sample>(api::sample(1, {measured})));
  ASSERT_TRUE(eventually([&] { return sink_.uses()[0].used_s.has_value(); }));
  EXPECT_DOUBLE_EQ(*sink_.uses()[0].used_s, 3.5);
  EXPECT_EQ(sink_.uses()[0].waits, 70);
}

// From an agent's counters to a profile, without a cluster and in no time.
TEST_F(AgentsTest, WhatAStreamTellsBecomesAProfile) {
  class Learning : public Recorder {
   public:
    [[nodiscard]] bool wants_uses() const override { return true; }
    void used(const std::string& node, const std::vector<ContainerUse>& uses) override {
      profiles.used(node, uses);
      ++told;
    }
    std::atomic<double> now_s = 0;
    std::atomic<std::uint64_t> told = 0;

   private:
    kube::FakeApiServer server_;
    std::unique_ptr<kube::Api> api_ = *kube::Api::create(server_.access());
    Log log_{"error", LogFormat::kText};

   public:
    LearntProfiles profiles{*api_,
                            log_,
                            [] { return false; },
                            {.name_space = "ns", .steady_s = [this] { return now_s.load(); }}};
  };
  agent::NodeView view = api::empty_view();
  topology::Request rank = api::request("a", 2);
  rank.job = "wind";
  ASSERT_TRUE(api::place(view, rank));
  publish(view);
  start();
  Learning sink;
  AgentOptions options = quick();
  options.rates = std::chrono::milliseconds(1);
  Agents agents(sink, options);
  ASSERT_TRUE(agents.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return sink.told > 0; }));
  for (std::uint64_t pass = 1; pass <= 3; ++pass) {
    metrics::ContainerFigures measured = api::figures("a");
    const std::uint64_t seconds = 40 * pass;
    measured.cpu_user_ns = 2 * seconds * 600'000'000;
    measured.cpu_system_ns = 0;
    measured.voluntary_switches = 2 * seconds * 100;
    sink.now_s = static_cast<double>(seconds);
    samples_.publish(std::make_shared<const metrics::Sample>(api::sample(pass, {measured})));
    ASSERT_TRUE(eventually([&] { return sink.told > pass; }));
  }
  agent::NodeView empty = api::empty_view();
  empty.generation = view.generation + 1;
  publish(empty);
  ASSERT_TRUE(eventually([&] { return sink.profiles.of("default", "wind").profile != Profile(); }));
  EXPECT_THAT(sink.profiles.of("default", "wind").why,
              HasSubstr("40 % of its CPU time unused, with 100 waits a second for each CPU"));
  agents.stop();
}

TEST_F(AgentsTest, ComingAndGoingIsToldOnceHoweverManyTriesFail) {
  publish(api::empty_view());
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return agents_.failures() > 3; }));
  EXPECT_THAT(sink_.why_lost("node-1"), HasSubstr("No such file"));
  start();
  ASSERT_TRUE(eventually([&] { return agents_.connected() == 1; }));
  const auto failures = agents_.failures();
  server_.reset();
  ASSERT_TRUE(eventually([&] { return agents_.failures() > failures + 3; }));
  EXPECT_EQ(agents_.connected(), 0U);
  const int before = sink_.reported();
  start();
  ASSERT_TRUE(eventually([&] { return agents_.connected() == 1; }));
  EXPECT_GT(sink_.reported(), before);
  EXPECT_THAT(sink_.news(), ElementsAre("node-1 is lost", "node-1 is connected", "node-1 is lost",
                                        "node-1 is connected"));
}

// With the pauses that are in force in a cluster.
TEST_F(AgentsTest, AnAgentThatWasAwayForManyPausesIsHeardWithinASecond) {
  publish(api::empty_view());
  start();
  Agents agents(sink_, {});
  ASSERT_TRUE(agents.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return agents.connected() == 1; }));
  std::vector<double> all_s;
  for (int round = 0; round < 3; ++round) {
    server_.reset();
    const std::uint64_t failures = agents.failures();
    ASSERT_TRUE(eventually([&] { return agents.failures() > failures + 5; }));
    const int before = sink_.reported();
    start();
    const auto back = std::chrono::steady_clock::now();
    ASSERT_TRUE(eventually([&] { return sink_.reported() > before; }));
    all_s.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - back).count());
  }
  std::sort(all_s.begin(), all_s.end());
  std::cout << "it is heard after " << testing::PrintToString(all_s) << " s\n";
  EXPECT_LT(all_s[1], 1) << "the one in the middle: the machine may have other things to do";
}

TEST_F(AgentsTest, OneThatIsNewlyKnownIsTriedWithoutAPause) {
  publish(api::empty_view());
  AgentOptions options = quick();
  options.first_pause = options.longest_pause = std::chrono::hours(1);
  Agents agents(sink_, options);
  const std::vector<AgentAddress> one{{.node = "node-1", .address = options_.listen}};
  ASSERT_TRUE(agents.follow(one));
  ASSERT_TRUE(eventually([&] { return agents.failures() == 1; }));
  start();
  ASSERT_TRUE(agents.follow(one));
  EXPECT_EQ(agents.connected(), 0U) << "nothing has changed";
  ASSERT_TRUE(agents.follow({}));
  ASSERT_TRUE(agents.follow(one));
  EXPECT_TRUE(eventually([&] { return agents.connected() == 1; }));
}

TEST_F(AgentsTest, OnesThatAreNotFollowedAnyMoreAreSilent) {
  publish(api::empty_view());
  start();
  ASSERT_TRUE(agents_.follow({{.node = "node-1", .address = options_.listen}}));
  ASSERT_TRUE(eventually([&] { return agents_.connected() == 1; }));
  EXPECT_FALSE(agents_.follow({{.node = "node-2", .address = "nonsense"}}));
  EXPECT_EQ(agents_.connected(), 1U) << "an error changes nothing";
  ASSERT_TRUE(agents_.follow({{.node = "node-2", .address = options_.listen}}));
  auto news = sink_.news();
  news.resize(2);  // the other one may be there already
  EXPECT_THAT(news, ElementsAre("node-1 is connected", "node-1 is lost"));
  EXPECT_EQ(sink_.why_lost("node-1"), "no agent of the node is known any more");
  ASSERT_TRUE(eventually([&] { return sink_.report("node-2").topology != nullptr; }));
  agents_.stop();
  const int before = sink_.reported();
  agent::NodeView view = api::empty_view();
  view.generation = 9;
  publish(view);
  EXPECT_EQ(sink_.reported(), before);
}

class AgentsWithTls : public AgentsTest {
 protected:
  void SetUp() override {
    if (!api::has_openssl()) GTEST_SKIP() << "there is no openssl command";
    options_.listen = "127.0.0.1:0";
    publish(api::empty_view());
  }
  // Whose CA is called so.
  void make_certificates(const std::string& name) {
    ASSERT_TRUE(api::make_certificates(directory_.path(), name));
    ASSERT_TRUE(api::make_certificate(directory_.path(), name, "agent", "DNS:node-1.pinion-agent"));
  }
  [[nodiscard]] agent::api::TlsFiles files(const std::string& name, const std::string& who) const {
    return api::files_of(directory_.path(), name, who);
  }
  [[nodiscard]] AgentAddress at_server(const std::string& node) const {
    return {.node = node, .address = server_->address(), .server_name = node + ".pinion-agent"};
  }
};

TEST_F(AgentsWithTls, WhoHasTheCertificateOfAnotherNodeIsNotHeard) {
  make_certificates("one");
  options_.tls = files("one", "agent");
  start();
  AgentOptions options = quick();
  options.tls = files("one", "client");
  Agents agents(sink_, options);
  ASSERT_TRUE(agents.follow({at_server("node-1"), at_server("node-2")}));
  ASSERT_TRUE(eventually([&] {
    return agents.connected() == 1 && agents.failures() > 3 &&
           sink_.report("node-1").topology != nullptr &&
           sink_.why_lost("node-2").find("node-2.pinion-agent") != std::string::npos;
  }));
  EXPECT_EQ(sink_.report("node-2").topology, nullptr);
}

// As when certificates are renewed: the folder is a link that is exchanged.
TEST_F(AgentsWithTls, NewFilesHoldForNewStreams) {
  make_certificates("one");
  make_certificates("two");
  const std::filesystem::path link = directory_.path() / "current";
  std::filesystem::create_symlink("one", link);
  AgentOptions options = quick();
  options.tls = files("current", "client");
  options.tls_reload = std::chrono::milliseconds(1);
  options_.tls = files("one", "agent");
  start();
  Agents agents(sink_, options);
  ASSERT_TRUE(agents.follow({at_server("node-1")}));
  ASSERT_TRUE(eventually([&] { return agents.connected() == 1; }));

  options_.tls = files("two", "agent");
  start();
  ASSERT_TRUE(agents.follow({at_server("node-1")}));
  ASSERT_TRUE(eventually([&] {
    return sink_.why_lost("node-1").find("certificate verify failed") != std::string::npos;
  })) << sink_.why_lost("node-1");
  std::filesystem::remove(link);
  const auto failures = agents.failures();
  ASSERT_TRUE(eventually([&] { return agents.failures() > failures + 3; })) << "there are none";
  EXPECT_EQ(agents.connected(), 0U);
  std::filesystem::create_symlink("two", link);
  EXPECT_TRUE(eventually([&] { return agents.connected() == 1; }));
}

}  // namespace
}  // namespace pinion::cluster
