#include "agent/node.h"

#include <gtest/gtest.h>

#include <fstream>

#include "agent/kept_file.h"
#include "tests/support/machine.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::agent {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using engine::ContainerEvent;
using test_support::Unit;

// Where nothing but the runtime's answers changes a container.
class NodeWithoutFiles : public testing::Test {
 protected:
  void run(const Unit& unit) {
    node_.handle(engine::CreateContainer{unit.pod, unit.container});
    for (const auto kind : {ContainerEvent::Kind::kStart, ContainerEvent::Kind::kPostStart}) {
      node_.handle(ContainerEvent{.kind = kind, .pod = unit.pod, .container = unit.container});
    }
    check();
  }
  void end(const Unit& unit) {
    node_.handle(engine::StopContainer{unit.pod, unit.container});
    node_.handle(engine::PodEvent{.kind = engine::PodEvent::Kind::kStop, .pod = unit.pod});
    check();
  }
  // The state, so that no check is due any more.
  void check() { node_.finish(last_check_ += 100ms); }

  Log log_{"error", LogFormat::kText};
  Node node_{engine::Engine(test_support::laptop(), {}, engine::FenceKind::kRuntime), std::nullopt,
             std::nullopt, log_, 10s};
  Clock::time_point now_ = Clock::now();
  Clock::time_point last_check_ = now_;
};

TEST_F(NodeWithoutFiles, TheStateIsCheckedAtOnceAndThenEvery100MsWhileThereAreEvents) {
  const Unit rank = test_support::rank("r", 1);
  run(rank);
  EXPECT_FALSE(node_.take_resync_wish(now_));
  EXPECT_FALSE(node_.next_work(true).has_value());
  node_.handle(engine::StopContainer{rank.pod, rank.container});
  node_.finish(last_check_ + 99ms);
  EXPECT_FALSE(node_.take_resync_wish(now_ + 250ms));
  EXPECT_EQ(node_.next_work(true), last_check_ + 100ms);
  node_.finish(last_check_ + 100ms);
  EXPECT_FALSE(node_.next_work(true).has_value());
}

TEST_F(NodeWithoutFiles, WhereNoAnswerComesWhatIsFreeAgainIsToldByAResyncAfterAMinute) {
  const Unit rank = test_support::rank("r", 5);
  run(test_support::shared("s"));
  run(rank);
  EXPECT_FALSE(node_.take_resync_wish(now_));
  EXPECT_FALSE(node_.next_work(true).has_value());
  end(rank);
  EXPECT_FALSE(node_.take_resync_wish(now_)) << "it has just looked";
  const auto next = node_.next_work(true);
  ASSERT_EQ(next, now_ + 250ms);
  EXPECT_FALSE(node_.take_resync_wish(*next)) << "an answer may come that can tell it";
  EXPECT_EQ(node_.next_work(true), *next + 60s);
  EXPECT_FALSE(node_.take_resync_wish(*next + 59s));
  EXPECT_TRUE(node_.take_resync_wish(*next + 60s));
  EXPECT_FALSE(node_.take_resync_wish(*next + 60s));
}

// Else the main loop would spin for as long as the runtime is away.
TEST_F(NodeWithoutFiles, NoResyncIsDueWhileNobodyListens) {
  const Unit rank = test_support::rank("r", 5);
  run(test_support::shared("s"));
  run(rank);
  EXPECT_TRUE(node_.next_work(true).has_value());
  EXPECT_FALSE(node_.next_work(false).has_value());
  EXPECT_FALSE(node_.take_resync_wish(now_));
  end(rank);
  EXPECT_FALSE(node_.take_resync_wish(now_ + 250ms)) << "waits for an answer for a minute";
  EXPECT_TRUE(node_.next_work(true).has_value());
  EXPECT_FALSE(node_.next_work(false).has_value());
}

TEST_F(NodeWithoutFiles, AnAnswerThatTellsItComesBeforeAResync) {
  const Unit rank = test_support::rank("r", 5);
  run(test_support::shared("s"));
  run(rank);
  end(rank);
  EXPECT_FALSE(node_.take_resync_wish(now_));
  const Unit next = test_support::shared("t");
  const auto reply = node_.handle(engine::CreateContainer{next.pod, next.container});
  EXPECT_EQ(reply.updates.size(), 1U);
  check();
  EXPECT_FALSE(node_.take_resync_wish(now_ + 60s));
  EXPECT_FALSE(node_.next_work(true).has_value());
}

TEST(NodeWithAFile, SavesWhatPodsKeepAfterEachEvent) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / kKeptFile;
  std::ofstream(path) << "of another agent";
  Log log{"error", LogFormat::kText};
  Node node{engine::Engine(test_support::laptop(), {}, engine::FenceKind::kRuntime),
            std::nullopt,
            std::nullopt,
            log,
            10s,
            {},
            path};
  node.finish(Clock::now());
  EXPECT_TRUE(std::filesystem::exists(path)) << "nobody is known yet";
  Unit rank = test_support::rank("r", 2);
  node.handle(test_support::all_running({}));
  node.finish(Clock::now());
  EXPECT_FALSE(std::filesystem::exists(path));
  node.handle(engine::CreateContainer{rank.pod, rank.container});
  node.handle(engine::StopContainer{rank.pod, rank.container});
  node.finish(Clock::now());
  ASSERT_EQ(node.engine().kept().size(), 1U);
  EXPECT_EQ(load_kept(path).value(), node.engine().kept());
  node.handle(engine::CreateContainer{rank.pod, rank.container});
  node.finish(Clock::now());
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace pinion::agent
