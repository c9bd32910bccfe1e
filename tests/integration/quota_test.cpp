// A rank is not throttled on cores that belong to it alone.
#include "agent/cgroup/quota_files.h"
#include "tests/integration/node.h"
#include "tests/lab/files.h"
#include "tests/lab/usage.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kSoon{20'000};
constexpr std::int64_t kCpu = 100'000;  // the quota of a whole CPU

class Root_Containerd_Quota : public NodeTest {
 protected:
  // More threads than CPUs.
  Result<Running> run_threads(const std::string& name) {
    auto spec = rank_spec(name);
    spec.containers.front().command = lab::spin(machine().width + 1);
    return run(spec);
  }
  [[nodiscard]] std::int64_t whole() const { return machine().width * kCpu; }

  [[nodiscard]] std::optional<std::int64_t> quota(const std::string& group) const {
    const auto quota = node().cgroups().quota(group);
    EXPECT_TRUE(ok(quota));
    return quota ? *quota : std::optional<std::int64_t>(0);
  }
  [[nodiscard]] std::int64_t stat(const std::string& group, const std::string& key) const {
    const auto value = node().cgroups().cpu_stat(group, key);
    EXPECT_TRUE(ok(value));
    return value.value_or(-1);
  }
  [[nodiscard]] testing::AssertionResult becomes(const std::string& group,
                                                 std::optional<std::int64_t> wanted) const {
    if (lab::eventually(kSoon, [&] { return quota(group) == wanted; })) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << group << " has quota " << quota(group).value_or(-1) << "\n"
           << logs();
  }
  // How often it was held back since it was made.
  [[nodiscard]] std::int64_t throttled(const Running& rank) const {
    return stat(rank.cgroup, "nr_throttled") + stat(rank.pod.cgroup, "nr_throttled");
  }
  // Its groups have no limit, and it uses time without being held back since it began. The runtime
  // may have been before that, as it makes the container under the pod's quota.
  void expect_free_run(const Running& rank) const {
    expect_free_run(rank, stat(rank.pod.cgroup, "nr_throttled"));
  }
  // The same, without being held back more than `before` times.
  void expect_free_run(const Running& rank, std::int64_t before) const {
    EXPECT_EQ(quota(rank.cgroup), std::nullopt) << logs();
    EXPECT_EQ(quota(rank.pod.cgroup), std::nullopt) << logs();
    const auto all_ran = [&] {
      const auto uses =
          lab::measure(node().cgroups(), {rank.cgroup}, Milliseconds(500), Milliseconds(50));
      return uses.front().threads.size() > static_cast<std::size_t>(machine().width);
    };
    EXPECT_TRUE(lab::eventually(kSoon, all_ran)) << "not enough threads";
    EXPECT_EQ(throttled(rank), before) << logs();
  }
};

TEST_P(Root_Containerd_Quota, ARankOfManyThreadsIsThrottledOnlyWithoutTheAgent) {
  if (machine().topology.online.count() <= machine().width) {
    GTEST_SKIP() << "needs a CPU beside the rank's";
  }
  // Only who could get more time than its quota is held back, so the lab's comes before others'.
  constexpr std::uint64_t most_shares = 262'144;
  auto cgroups = node().cgroups();
  ASSERT_TRUE(ok(cgroups.create(node().cgroup_root(), most_shares)));
  const auto before = run_threads("before");
  ASSERT_TRUE(ok(before));
  EXPECT_EQ(quota(before->cgroup), whole());
  const std::int64_t begun = throttled(*before);
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return throttled(*before) > begun; }));
  ASSERT_TRUE(ok(remove(*before)));

  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_threads("rank");
  ASSERT_TRUE(ok(rank));
  expect_free_run(*rank);
  // Others keep theirs.
  auto limited = lab::burstable_pod("limited", 100, lab::spin(1));
  limited.containers.front().cpu_limit = 500;
  const auto noise = run(limited);
  ASSERT_TRUE(ok(noise));
  EXPECT_EQ(quota(noise->cgroup), kCpu / 2);
  EXPECT_EQ(quota(noise->pod.cgroup), kCpu / 2);
}

TEST_P(Root_Containerd_Quota, ItStaysAwayWhoeverWritesIt) {
  ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "200ms"}})));
  const auto rank = run_threads("rank");
  ASSERT_TRUE(ok(rank));
  expect_free_run(*rank);

  lab::LinuxResources all = lab::resources_of(rank->pod.spec, rank->pod.spec.containers.front());
  ASSERT_TRUE(ok(node().cri().update_resources(rank->id, all)));
  EXPECT_EQ(quota(rank->cgroup), std::nullopt) << logs();
  lab::LinuxResources memory;
  memory.memory = 128LL << 20;
  ASSERT_TRUE(ok(node().cri().update_resources(rank->id, memory)));
  EXPECT_EQ(quota(rank->cgroup), std::nullopt) << logs();

  ASSERT_TRUE(ok(node().cgroups().limit(rank->pod.cgroup, whole())));
  EXPECT_TRUE(becomes(rank->pod.cgroup, std::nullopt));
  const auto foreign_told = [&] {
    const auto log = lab::read_file(agent().log());
    return log && log->find("CPU quota was changed by somebody else") != std::string::npos;
  };
  EXPECT_FALSE(foreign_told()) << "the runtime and the kubelet did that";
  ASSERT_TRUE(ok(node().cgroups().limit(rank->cgroup, whole())));
  EXPECT_TRUE(becomes(rank->cgroup, std::nullopt));
  EXPECT_TRUE(lab::eventually(kSoon, foreign_told)) << logs();
  ASSERT_TRUE(ok(node().cgroups().limit(rank->pod.cgroup, kCpu / 2)));
  EXPECT_TRUE(becomes(rank->pod.cgroup, std::nullopt));
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto log = lab::read_file(agent().log());
    return log && log->find("CPU quota of its pod was changed by somebody") != std::string::npos;
  })) << logs();
  // While a limit written here stood, the kernel may have held it back.
  const std::int64_t before = throttled(*rank);

  agent().kill();
  ASSERT_TRUE(ok(start_agent()));
  EXPECT_TRUE(is_pinned(*rank, {}));
  expect_free_run(*rank, before);
}

TEST_P(Root_Containerd_Quota, ItIsPutBackWithTheCores) {
  ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "200ms"}})));
  const auto rank = run_threads("rank");
  ASSERT_TRUE(ok(rank));
  expect_free_run(*rank);
  auto part = rank->pod.spec.containers.front();
  part.cpu_request = part.cpu_limit = 500;
  ASSERT_TRUE(ok(node().cri().update_resources(rank->id, lab::resources_of(rank->pod.spec, part))));
  EXPECT_EQ(quota(rank->cgroup), kCpu / 2) << logs();
  // The kubelet writes the pod's when it resizes; without it, what was there comes back.
  EXPECT_TRUE(becomes(rank->pod.cgroup, whole()));
  ASSERT_TRUE(ok(node().cri().update_resources(
      rank->id, lab::resources_of(rank->pod.spec, rank->pod.spec.containers.front()))));
  EXPECT_TRUE(becomes(rank->cgroup, std::nullopt));
  EXPECT_TRUE(becomes(rank->pod.cgroup, std::nullopt));
}

TEST_P(Root_Containerd_Quota, ItIsPutBackWhenTheNodeIsGivenBack) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_threads("rank");
  ASSERT_TRUE(ok(rank));
  expect_free_run(*rank);
  ASSERT_TRUE(ok(agent().stop()));
  auto hierarchy = cgroup::find_hierarchy("/", "cpu");
  ASSERT_TRUE(hierarchy);
  hierarchy->mount += "/" + node().cgroup_root();  // what others have is theirs
  const auto restored = cgroup::restore_quotas(*hierarchy);
  EXPECT_TRUE(restored.failed.empty()) << testing::PrintToString(restored.failed);
  EXPECT_EQ(restored.groups.size(), 2U) << testing::PrintToString(restored.groups);
  EXPECT_EQ(quota(rank->cgroup), whole());
  EXPECT_EQ(quota(rank->pod.cgroup), whole());
}

TEST_P(Root_Containerd_Quota, ARankThatStartedWithoutTheAgentLosesItToo) {
  const auto rank = run_threads("rank");
  ASSERT_TRUE(ok(rank));
  EXPECT_EQ(quota(rank->cgroup), whole());
  ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "200ms"}})));
  EXPECT_TRUE(becomes_pinned(*rank, {}, kSoon));
  EXPECT_TRUE(becomes(rank->cgroup, std::nullopt));
  EXPECT_TRUE(becomes(rank->pod.cgroup, std::nullopt));
}

TEST_P(Root_Containerd_Quota, APodKeepsItsOwnWhereOneOfItsContainersIsShared) {
  ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "200ms"}})));
  auto spec = rank_spec("mixed");
  auto side = spec.containers.front();
  side.name = "side";
  side.cpu_request = side.cpu_limit = 200;
  spec.containers.push_back(side);
  const auto rank = run(spec);
  ASSERT_TRUE(ok(rank));
  const auto second = node().start_container(rank->pod, side);
  ASSERT_TRUE(ok(second));
  EXPECT_EQ(quota(rank->cgroup), std::nullopt) << logs();
  EXPECT_EQ(quota(lab::ContainerdLab::cgroup_of(rank->pod, *second)), kCpu / 5);
  EXPECT_EQ(quota(rank->pod.cgroup), whole() + kCpu / 5);
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Quota, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
