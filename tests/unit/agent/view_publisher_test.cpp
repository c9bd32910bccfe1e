// What others see of the node follows the runtime's connection.
#include "agent/view_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_runtime/runtime_socket.h"
#include "tests/support/fake_runtime/turn.h"
#include "tests/support/machine.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::agent {
namespace {

using Clock = std::chrono::steady_clock;

class ViewOfANode : public testing::Test {
 protected:
  ViewOfANode() {
    auto listening = test_support::RuntimeSocket::listen(socket_);
    EXPECT_TRUE(listening);
    runtime_.emplace(std::move(*listening));
  }

  void turn(int patience_ms) { test_support::turn(connection_, patience_ms); }

  void synchronize() {
    turn(0);  // connects
    ASSERT_TRUE(runtime_->accept());
    turn(0);
    ASSERT_TRUE(runtime_->wait_for([&] { return runtime_->runtime().registration().has_value(); }));
    ASSERT_TRUE(runtime_->send(runtime_->runtime().handshake()));
    for (int i = 0; i < 100 && connection_.phase() != nri::Phase::kSynchronized; ++i) turn(1000);
  }

  std::shared_ptr<const NodeView> view() {
    publisher_.publish(Clock::now(), node_, connection_);
    return views_.get();
  }

  test_support::TempDir directory_;
  std::string socket_ = directory_.path() / "nri.sock";
  std::optional<test_support::RuntimeSocket> runtime_;
  Log log_{"error", LogFormat::kText};
  Node node_{engine::Engine(test_support::machine(test_support::MachineSpec{.cores_per_l3 = 4}), {},
                            engine::FenceKind::kRuntime),
             std::nullopt, std::nullopt, log_, std::chrono::seconds(10)};
  nri::Connection connection_{{.socket = socket_, .session = {}}, node_};
  Published<NodeView> views_;
  ViewPublisher publisher_{node_, views_};
};

TEST_F(ViewOfANode, IsReadyWhileTheRuntimeIsThere) {
  EXPECT_FALSE(view()->synchronized);
  EXPECT_FALSE(view()->was_synchronized);
  ASSERT_NO_FATAL_FAILURE(synchronize());
  EXPECT_TRUE(view()->synchronized);
  runtime_->close_peer();
  turn(1000);
  EXPECT_FALSE(view()->synchronized) << "nobody asks for cores here any more";
  EXPECT_TRUE(view()->was_synchronized);
  EXPECT_EQ(view()->phase, "disconnected");
}

TEST_F(ViewOfANode, IsReadyAgainAfterTheNextSynchronize) {
  ASSERT_NO_FATAL_FAILURE(synchronize());
  connection_.resync(Clock::now(), "a test");
  turn(0);
  EXPECT_FALSE(view()->synchronized);
  runtime_->runtime() = test_support::FakeRuntime();
  ASSERT_NO_FATAL_FAILURE(synchronize());
  EXPECT_TRUE(view()->synchronized);
}

// A runtime that takes a connection and drops it: else the main loop would not rest any more.
TEST_F(ViewOfANode, NothingIsDueOnceAChangeIsUndone) {
  const auto now = Clock::now();
  publisher_.publish(now, node_, connection_);
  turn(0);  // connects
  publisher_.consider(now + std::chrono::milliseconds(1), node_, connection_);
  EXPECT_TRUE(publisher_.deadline());
  ASSERT_TRUE(runtime_->accept());
  runtime_->close_peer();
  for (int i = 0; i < 100 && connection_.phase(); ++i) turn(1000);
  publisher_.consider(now + std::chrono::milliseconds(30), node_, connection_);
  EXPECT_FALSE(publisher_.deadline());
}

TEST_F(ViewOfANode, ShowsWhatAPodKeepsForContainersThatDoNotRun) {
  test_support::Unit unit = test_support::rank("r", 1);
  unit.pod.resources = test_support::cpu(2000);
  ASSERT_FALSE(node_.handle(engine::CreateContainer{unit.pod, unit.container}).refusal);
  const auto running = view();
  ASSERT_EQ(running->containers.size(), 2U);
  const auto at = [&](const std::string& id) {
    const auto& all = view()->containers;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.id == id; });
    return found == all.end() ? ContainerView() : *found;
  };
  const ContainerView rest = at("sandbox-r/");
  EXPECT_THAT(rest.why, testing::HasSubstr("to come"));
  EXPECT_EQ(rest.pod, "r");
  EXPECT_EQ(rest.decided.cpus.count(), 1);
  const ContainerView own = at(unit.id());
  EXPECT_EQ(own.claim, "sandbox-r/main");
  (void)node_.handle(engine::StopContainer{unit.pod, unit.container});
  const ContainerView kept = at("sandbox-r/main");
  EXPECT_EQ(kept.decided.cpus, own.decided.cpus);
  EXPECT_EQ(kept.name, "main");
  EXPECT_TRUE(kept.exclusive);
  EXPECT_FALSE(kept.started);
  EXPECT_EQ(view()->ledger.find(kept.claim)->cpus, own.decided.cpus);
}

TEST_F(ViewOfANode, SaysWhyAContainerHasNoCoresOfItsOwn) {
  const test_support::Unit unit = test_support::shared("s");
  ASSERT_FALSE(node_.handle(engine::CreateContainer{unit.pod, unit.container}).refusal);
  ASSERT_EQ(view()->containers.size(), 1U);
  EXPECT_EQ(view()->containers.front().why, "its pod is BestEffort, not Guaranteed");
}

TEST_F(ViewOfANode, ShowsWhatAnnotationsMayAskAlsoAfterAReload) {
  EXPECT_EQ(view()->privileges, engine::Defaults().privileges);
  const std::uint64_t version = node_.version();
  engine::Defaults defaults;
  defaults.privileges = {engine::Privilege::kOnePerCore};
  node_.use(defaults, std::chrono::seconds(10));
  EXPECT_GT(node_.version(), version) << "else nobody would publish it";
  EXPECT_EQ(view()->privileges, defaults.privileges);
}

}  // namespace
}  // namespace pinion::agent
