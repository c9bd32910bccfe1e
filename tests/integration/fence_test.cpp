// The other fence and the other way of starting: updates in the runtime's answers, and an agent
// that the runtime launches itself.
#include <filesystem>

#include "tests/integration/node.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kSoon{30'000};

class Root_Containerd_Fence : public NodeTest {};

TEST_P(Root_Containerd_Fence, UpdatesInAnswersKeepOthersOff) {
  ASSERT_TRUE(ok(start_agent({.fence = "runtime"})));
  const auto early = run_burstable("early");
  ASSERT_TRUE(ok(early));
  const CpuSet all = file(*early);
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  EXPECT_TRUE(is_pinned(*rank, {*early}));
  const auto late = run_best_effort("late");
  ASSERT_TRUE(ok(late));
  EXPECT_TRUE(is_pinned(*rank, {*early, *late}));
  EXPECT_TRUE(no_drift());

  ASSERT_TRUE(ok(remove(*rank)));
  const auto status = agent().status();
  ASSERT_TRUE(ok(status));
  // One for each change of one container: never one that changes nothing.
  EXPECT_GE(status->counters.at("updates_told"), 1);
  EXPECT_LE(status->counters.at("updates_told"), 4);
  EXPECT_EQ(status->counters.at("repairs"), 0) << "it must not write files";
  EXPECT_FALSE(file(*early).empty());
  EXPECT_TRUE(file(*early).is_subset_of(all));
}

TEST_P(Root_Containerd_Fence, ARankThatStartedWithoutTheAgentIsPinnedBySynchronize) {
  const auto early = run_burstable("early");
  ASSERT_TRUE(ok(early));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  EXPECT_TRUE(file(*rank).intersects(file(*early)));
  ASSERT_TRUE(ok(start_agent({.fence = "runtime"})));
  EXPECT_TRUE(becomes_pinned(*rank, {*early}, kSoon));
}

TEST_P(Root_Containerd_Fence, TheRuntimeMayLaunchTheAgentItself) {
  const std::string plugins = node().dir() + "/nri/plugins";
  const std::string state = node().dir() + "/launched";
  const std::string log = node().logs() + "/launched.log";
  std::filesystem::create_directories(plugins);
  // The runtime passes no flags, so a script of the plugin's name does.
  const std::string script = "#!/bin/sh\nexec " + lab::default_agent() + " --state-dir " + state +
                             " --fence leaf --reserved-cpus " + machine().reserved.to_string() +
                             " 2>>" + log + "\n";
  ASSERT_TRUE(ok(lab::write_file(plugins + "/10-pinion", script)));
  std::filesystem::permissions(plugins + "/10-pinion", std::filesystem::perms::owner_all);
  ASSERT_TRUE(ok(node().stop_containerd()));
  ASSERT_TRUE(ok(node().start_containerd()));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  EXPECT_EQ(file(*rank).count(), machine().width) << lab::tail_of(log, 15);
  EXPECT_FALSE(file(*rank).intersects(file(*noise)));
  // It ends with the runtime that launched it.
  ASSERT_TRUE(ok(node().stop_containerd()));
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    return lab::tail_of(log, 1).find("stopped") != std::string::npos;
  })) << lab::tail_of(log, 5);
  EXPECT_EQ(lab::tail_of(log, 5).find("trying again"), std::string::npos) << lab::tail_of(log, 5);
  ASSERT_TRUE(ok(node().start_containerd()));
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Fence, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
