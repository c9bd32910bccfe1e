// Whatever is restarted or killed, every live rank keeps its cores, and all is as decided again.
#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include "tests/integration/node.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kSoon{30'000};

// That the process has used so far.
double cpu_seconds(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

class Root_Containerd_Restart : public NodeTest {
 protected:
  // A rank and two shared containers, all running.
  void start_job() {
    ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "500ms"}})));
    auto burstable = run_burstable("burstable");
    ASSERT_TRUE(ok(burstable));
    auto rank = run_rank("rank");
    ASSERT_TRUE(ok(rank));
    auto best_effort = run_best_effort("best-effort");
    ASSERT_TRUE(ok(best_effort));
    rank_ = *rank;
    noise_ = {*burstable, *best_effort};
    own_ = file(rank_);
    ASSERT_TRUE(is_pinned(rank_, noise_));
  }

  // All is as it was, and a newcomer is kept off too.
  void expect_kept(const std::string& newcomer) {
    EXPECT_EQ(file(rank_), own_);
    EXPECT_TRUE(becomes_pinned(rank_, noise_, kSoon));
    const auto late = run_burstable(newcomer);
    ASSERT_TRUE(ok(late));
    EXPECT_TRUE(is_pinned(rank_, {noise_[0], noise_[1], *late}));
    ASSERT_TRUE(ok(remove(*late)));
    EXPECT_EQ(file(rank_), own_);
  }

  // A new rank fits once the old one is gone: nothing was leaked on the way.
  void expect_reusable() {
    ASSERT_TRUE(ok(remove(rank_)));
    const auto next = run_rank("next");
    ASSERT_TRUE(ok(next));
    EXPECT_TRUE(is_pinned(*next, noise_));
    EXPECT_TRUE(no_drift());
  }

  Running rank_;
  std::vector<Running> noise_;
  CpuSet own_;
};

TEST_P(Root_Containerd_Restart, OfTheAgentKeepsEveryRank) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  for (const char* newcomer : {"late-1", "late-2"}) {
    const auto before = std::chrono::steady_clock::now();
    const auto status = agent().stop();
    ASSERT_TRUE(ok(status));
    EXPECT_EQ(*status, 0);
    // A second of its own making, and one more where the machine has other things to do.
    EXPECT_LT(std::chrono::steady_clock::now() - before, lab::patient(Milliseconds(2000)));
    EXPECT_EQ(file(rank_), own_) << "stopping the agent changed a rank";
    for (const auto& noise : noise_) EXPECT_FALSE(file(noise).intersects(own_));
    ASSERT_TRUE(ok(start_agent()));
    ASSERT_NO_FATAL_FAILURE(expect_kept(newcomer));
  }
  expect_reusable();
}

// The runtime waits for its answer until the limit of a request, then goes on without it.
class Root_Containerd_HungAgent : public Root_Containerd_Restart {
 protected:
  Result<std::shared_ptr<lab::ContainerdLab>> open_lab(const lab::LabOptions& options) override {
    lab::LabOptions hurried = options;
    hurried.request_timeout = Milliseconds(2000);
    return Root_Containerd_Restart::open_lab(hurried);
  }
};

TEST_P(Root_Containerd_HungAgent, IsLeftOutAndPutsAllRightWhenItWakes) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  ASSERT_EQ(::kill(agent().pid(), SIGSTOP), 0);
  const auto orphan = run_burstable("orphan");
  ASSERT_EQ(::kill(agent().pid(), SIGCONT), 0);
  ASSERT_TRUE(ok(orphan));
  EXPECT_TRUE(becomes_pinned(rank_, {noise_[0], noise_[1], *orphan}, kSoon));
  ASSERT_NO_FATAL_FAILURE(expect_kept("late"));
  expect_reusable();
}

TEST_P(Root_Containerd_Restart, KillOfTheAgentKeepsEveryRank) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  agent().kill();
  // What starts while there is no agent starts unpinned; it is put right afterwards.
  const auto orphan = run_burstable("orphan");
  ASSERT_TRUE(ok(orphan));
  ASSERT_TRUE(ok(start_agent()));
  EXPECT_TRUE(becomes_pinned(rank_, {noise_[0], noise_[1], *orphan}, kSoon));
  ASSERT_NO_FATAL_FAILURE(expect_kept("late"));
  expect_reusable();
}

TEST_P(Root_Containerd_Restart, ARankThatStartedWithoutTheAgentGetsItsCoresLater) {
  ASSERT_TRUE(ok(start_agent()));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  agent().kill();
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  ASSERT_TRUE(ok(start_agent()));
  EXPECT_TRUE(becomes_pinned(*rank, {*noise}, kSoon));
  EXPECT_TRUE(tasks_allowed(*rank, file(*rank)));
}

TEST_P(Root_Containerd_Restart, ACoreWhoseOwnerEndedMeanwhileIsFree) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  agent().kill();
  ASSERT_TRUE(ok(remove(rank_)));
  ASSERT_TRUE(ok(start_agent()));
  const auto next = run_rank("next");
  ASSERT_TRUE(ok(next));
  EXPECT_TRUE(is_pinned(*next, noise_));
}

// The kill falls at another moment of the create in each round: before, in and after each of its
// calls to the agent.
TEST_P(Root_Containerd_Restart, KillOfTheAgentDuringACreateIsRepaired) {
  ASSERT_TRUE(ok(start_agent()));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Result<Running> rank = failure(Errc::kInternal, "not tried");
    Result<Running> late = failure(Errc::kInternal, "not tried");
    std::thread creator([&] {
      rank = run_rank("rank-" + std::to_string(round));
      late = run_best_effort("late-" + std::to_string(round));
    });
    // The moments are spread, not waited for: any of them must come out right.
    std::this_thread::sleep_for(Milliseconds(25 * round));
    agent().kill();
    creator.join();
    ASSERT_TRUE(ok(rank)) << "NRI fails open: a dead plugin must not fail a create";
    ASSERT_TRUE(ok(late));
    ASSERT_TRUE(ok(start_agent()));
    EXPECT_TRUE(becomes_pinned(*rank, {*noise, *late}, kSoon));
    EXPECT_TRUE(tasks_allowed(*rank, file(*rank)));
    ASSERT_TRUE(ok(remove(*rank)));
    ASSERT_TRUE(ok(remove(*late)));
  }
  EXPECT_TRUE(no_drift());
}

TEST_P(Root_Containerd_Restart, OfContainerdKeepsEveryRank) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  ASSERT_TRUE(ok(node().stop_containerd()));
  EXPECT_TRUE(agent().running());
  EXPECT_EQ(file(rank_), own_);
  ASSERT_TRUE(ok(node().start_containerd()));
  ASSERT_TRUE(lab::eventually(kSoon, [&] {
    const auto status = agent().status();
    return status && status->phase == "synchronized";
  }));
  ASSERT_NO_FATAL_FAILURE(expect_kept("late"));
  expect_reusable();
}

TEST_P(Root_Containerd_Restart, KillOfContainerdKeepsEveryRank) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  for (const char* newcomer : {"late-1", "late-2"}) {
    node().kill_containerd();
    ASSERT_TRUE(lab::eventually(kSoon, [&] {
      const auto status = agent().status();
      return status && status->phase != "synchronized";
    }));
    EXPECT_EQ(file(rank_), own_);
    ASSERT_TRUE(ok(node().start_containerd()));
    ASSERT_TRUE(lab::eventually(kSoon, [&] {
      const auto status = agent().status();
      return status && status->phase == "synchronized";
    }));
    ASSERT_NO_FATAL_FAILURE(expect_kept(newcomer));
  }
  expect_reusable();
}

// After audits, too, which look at files that only the runtime could have mended.
TEST_P(Root_Containerd_Restart, AnAgentWhoseRuntimeIsAwayRests) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  node().kill_containerd();
  ASSERT_TRUE(lab::eventually(kSoon, [&] {
    const auto status = agent().status();
    return status && status->phase != "synchronized";
  }));
  const double before = cpu_seconds(agent().pid());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  ASSERT_TRUE(lab::eventually(kSoon, [&] { return std::chrono::steady_clock::now() >= until; }));
  EXPECT_LT(cpu_seconds(agent().pid()) - before, 1.0) << "of 3 s, with an audit every 500 ms";
  EXPECT_EQ(file(rank_), own_);
}

TEST_P(Root_Containerd_Restart, ASecondAgentIsRefused) {
  ASSERT_NO_FATAL_FAILURE(start_job());
  // Whether it has the first one's state directory or one of its own.
  for (const char* name : {"agent", "other"}) {
    SCOPED_TRACE(name);
    auto second =
        lab::AgentProcess::start(node(), {.name = name, .log_name = std::string("second-") + name});
    ASSERT_TRUE(ok(second));
    const auto status = second->wait(kSoon);
    ASSERT_TRUE(status.has_value()) << "it runs beside the first";
    EXPECT_NE(*status, 0);
    EXPECT_NE(second->log_tail().find("another pinion-agent"), std::string::npos)
        << second->log_tail();
  }
  EXPECT_TRUE(agent().running());
  ASSERT_NO_FATAL_FAILURE(expect_kept("late"));
}

TEST_P(Root_Containerd_Restart, AKubeletWithTheStaticPolicyIsRefused) {
  const std::string state = node().dir() + "/cpu_manager_state";
  ASSERT_TRUE(
      ok(lab::write_file(state, R"({"policyName":"static","defaultCpuSet":"0-1","checksum":1})")));
  auto agent = lab::AgentProcess::start(node(), {.more = {"--kubelet-dir", node().dir()}});
  ASSERT_TRUE(ok(agent));
  const auto status = agent->wait(kSoon);
  ASSERT_TRUE(status.has_value()) << "it runs beside that kubelet";
  EXPECT_NE(*status, 0);
  EXPECT_NE(agent->log_tail().find("cpuManagerPolicy"), std::string::npos) << agent->log_tail();
  ASSERT_TRUE(
      ok(lab::write_file(state, R"({"policyName":"none","defaultCpuSet":"","checksum":1})")));
  EXPECT_TRUE(ok(start_agent({.more = {"--kubelet-dir", node().dir()}})));
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_HungAgent, every_containerd(), version_name);
INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Restart, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
