// All agents vanish and come back, again and again: the last stream's end is where gRPC's own
// threads and queues would end with it.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/api/convert.h"
#include "cluster/extender/agents/agents.h"
#include "proto/pinion/v1/node.grpc.pb.h"
#include "tests/support/tree.h"
#include "tests/unit/api/samples.h"

namespace pinion::cluster {
namespace {

using std::chrono::steady_clock;

constexpr int kAgents = 3;

// An agent that says one thing. With gRPC's synchronous interface: servers with the callback
// interface, as the agent's own, would keep up what they share with clients of that interface.
class PlayedAgent final : private v1::Node::Service {
 public:
  explicit PlayedAgent(const std::string& address) {
    agent::NodeView view = agent::api::empty_view();
    *message_.mutable_snapshot() = agent::api::snapshot_of({"node", "1", "one"}, view, nullptr);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~PlayedAgent() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    server_->Shutdown();
  }
  PlayedAgent(const PlayedAgent&) = delete;
  PlayedAgent& operator=(const PlayedAgent&) = delete;

  [[nodiscard]] bool serves() const { return server_ != nullptr; }
  [[nodiscard]] int streams() const { return streams_; }

 private:
  grpc::Status WatchNode(grpc::ServerContext* context, const v1::WatchNodeRequest* /*request*/,
                         grpc::ServerWriter<v1::WatchNodeResponse>* writer) override {
    ++streams_;
    writer->Write(message_);
    std::unique_lock lock(mutex_);
    while (!stopping_ && !context->IsCancelled()) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    --streams_;
    return {grpc::StatusCode::UNAVAILABLE, "the agent is stopping"};
  }

  v1::WatchNodeResponse message_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::atomic<int> streams_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class Nobody : public AgentSink {
 public:
  void reported(const std::string&, NodeReport) override {}
  bool measured(const std::string&, MissRates) override { return true; }
  bool heard(const std::string&) override { return true; }
  void unlinked(const std::string&) override {}
  void connected(const std::string&) override {}
  void lost(const std::string&, const Error&) override {}
};

// PINION_ROUNDS=N: so many. Else as many as there is time for: a minute in CI, else five seconds.
class Rounds {
 public:
  bool next() {
    if (most_ ? done_ >= *most_ : steady_clock::now() >= until_) return false;
    ++done_;
    return true;
  }
  [[nodiscard]] int done() const { return done_; }

 private:
  static std::optional<int> most() {
    const char* text = std::getenv("PINION_ROUNDS");
    return text != nullptr ? std::optional(std::atoi(text)) : std::nullopt;
  }
  static std::chrono::seconds time() {
    return std::chrono::seconds(std::getenv("CI") != nullptr ? 60 : 5);
  }

  const std::optional<int> most_ = most();
  const steady_clock::time_point until_ = steady_clock::now() + time();
  int done_ = 0;
};

class AgentsRounds : public testing::Test {
 protected:
  void serve() {
    agents_.clear();
    addresses_.clear();
    for (int i = 0; i < kAgents; ++i) {
      const std::string node = "node-" + std::to_string(i);
      const std::string address = "unix:" + (folder_.path() / node).string();
      agents_.push_back(std::make_unique<PlayedAgent>(address));
      ASSERT_TRUE(agents_.back()->serves()) << address;
      addresses_.push_back({.node = node, .address = address});
    }
  }
  [[nodiscard]] int streams() const {
    int sum = 0;
    for (const auto& agent : agents_) sum += agent->streams();
    return sum;
  }
  static bool soon(const std::function<bool()>& condition) {
    const auto until = steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
  }

  test_support::TempDir folder_;
  std::vector<std::unique_ptr<PlayedAgent>> agents_;
  std::vector<AgentAddress> addresses_;
};

TEST_F(AgentsRounds, AllVanishAndComeBack) {
  Nobody sink;
  AgentOptions options;
  options.first_pause = std::chrono::milliseconds(1);
  options.longest_pause = std::chrono::milliseconds(5);
  auto streams = std::make_unique<Agents>(sink, options);
  std::mt19937 random(1);
  Rounds rounds;
  while (rounds.next()) {
    serve();
    ASSERT_TRUE(streams->follow(addresses_));
    ASSERT_TRUE(soon([&] { return streams->connected() == kAgents; })) << rounds.done();
    switch (random() % 4) {
      case 0:  // their pods are deleted, and end
        ASSERT_TRUE(streams->follow({}));
        ASSERT_TRUE(soon([&] { return this->streams() == 0; }));
        agents_.clear();
        break;
      case 1:  // they end, and then their pods are deleted
        agents_.clear();
        ASSERT_TRUE(soon([&] { return streams->connected() == 0; }));
        ASSERT_TRUE(streams->follow({}));
        break;
      case 2:  // both at once
        agents_.clear();
        ASSERT_TRUE(streams->follow({}));
        break;
      default:  // the extender ends
        streams.reset();
        streams = std::make_unique<Agents>(sink, options);
    }
  }
  RecordProperty("rounds", rounds.done());
  std::cout << rounds.done() << " rounds of " << kAgents << " agents\n";
}

}  // namespace
}  // namespace pinion::cluster
