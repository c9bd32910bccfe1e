// A placeholder's core runs another container's processes while both live, and nobody else's.
#include "tests/integration/node.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kSoon{60'000};

class Root_Containerd_Lend : public NodeTest {
 protected:
  // What a virtual cluster's container is: Guaranteed, of a small part of a CPU. It has a thread
  // for each CPU, so that none that it may use stays idle.
  Result<Running> run_cluster(const std::string& name) {
    auto spec = lab::guaranteed_pod(name, 1, lab::spin(machine().topology.online.count()));
    spec.containers.front().cpu_request = spec.containers.front().cpu_limit = 200;
    spec.annotations["pinion.dev/borrow"] = "true";
    return run(spec);
  }
  Result<Running> run_placeholder(const std::string& name) {
    auto spec = lab::guaranteed_pod(name, machine().width, {"/bin/busybox", "sleep", "1000000"});
    spec.annotations["pinion.dev/lend-to"] = "cluster-*/main";
    return run(spec);
  }

  void start_all() {
    ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "500ms"}})));
    auto noise = run_burstable("noise");
    ASSERT_TRUE(ok(noise));
    auto cluster = run_cluster("cluster-1");
    ASSERT_TRUE(ok(cluster));
    auto placeholder = run_placeholder("job-1");
    ASSERT_TRUE(ok(placeholder));
    noise_ = *noise;
    cluster_ = *cluster;
    placeholder_ = *placeholder;
  }

  // Its processes may run there, as the kernel says; nobody else's may.
  [[nodiscard]] testing::AssertionResult is_lent() const {
    const CpuSet both = file(cluster_);
    const CpuSet cores = both - file(placeholder_);
    if (cores.count() != machine().width) {
      return testing::AssertionFailure() << "the borrower has " << both.to_string()
                                         << ", the lender " << file(placeholder_).to_string();
    }
    if (cores.intersects(file(noise_))) return testing::AssertionFailure() << "so has the noise";
    for (const auto& [container, cpus] :
         {std::pair(&cluster_, both), std::pair(&placeholder_, both - cores),
          std::pair(&noise_, file(noise_))}) {
      if (auto allowed = tasks_allowed(*container, cpus); !allowed) return allowed;
    }
    return testing::AssertionSuccess();
  }
  [[nodiscard]] std::optional<std::int64_t> quota(const std::string& group) const {
    const auto quota = node().cgroups().quota(group);
    EXPECT_TRUE(ok(quota));
    return quota ? *quota : std::optional<std::int64_t>(0);
  }

  Running noise_;
  Running cluster_;
  Running placeholder_;
};

TEST_P(Root_Containerd_Lend, TheBorrowerRunsThereUntilThePlaceholderGoes) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  ASSERT_TRUE(is_lent()) << logs();
  const CpuSet cores = file(cluster_) - file(placeholder_);
  EXPECT_TRUE(no_drift());
  EXPECT_TRUE(
      lab::eventually(kSoon, [&] { return ran_on(cluster_, Milliseconds(200)).intersects(cores); }))
      << "nothing of it runs on " << cores.to_string();
  EXPECT_EQ(quota(cluster_.cgroup), std::nullopt) << logs();
  EXPECT_EQ(quota(cluster_.pod.cgroup), std::nullopt) << logs();

  agent().kill();
  ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "500ms"}})));
  EXPECT_TRUE(is_lent()) << logs();
  EXPECT_EQ(file(cluster_) - file(placeholder_), cores);
  const auto status = agent().status();
  ASSERT_TRUE(ok(status));
  EXPECT_EQ(status->counters.at("moved"), 0);
  EXPECT_EQ(status->counters.at("drift"), 0);
  EXPECT_EQ(status->counters.at("repairs"), 0);

  ASSERT_TRUE(ok(node().cri().stop_container(placeholder_.id)));
  // Under partitions all shared containers may use what nobody runs on.
  if (lab::default_fence() != "partition") {
    EXPECT_FALSE(file(cluster_).intersects(cores)) << "its pod has them, and nobody runs there\n"
                                                   << logs();
  }
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return quota(cluster_.cgroup) == 20'000; }));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return quota(cluster_.pod.cgroup) == 20'000; }));
  ASSERT_TRUE(ok(remove(placeholder_)));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  EXPECT_TRUE(is_pinned(*rank, {cluster_, noise_}));
}

TEST_P(Root_Containerd_Lend, TheLenderHasItsCoresWithoutABorrower) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  ASSERT_TRUE(is_lent()) << logs();
  const CpuSet cores = file(cluster_) - file(placeholder_);
  ASSERT_TRUE(ok(remove(cluster_)));
  EXPECT_EQ(file(placeholder_), cores);
  EXPECT_TRUE(tasks_allowed(placeholder_, cores));
  EXPECT_TRUE(is_pinned(placeholder_, {noise_}));

  const auto next = run_cluster("cluster-2");
  ASSERT_TRUE(ok(next));
  cluster_ = *next;
  EXPECT_TRUE(is_lent()) << logs();
  EXPECT_EQ(file(cluster_) - file(placeholder_), cores);
  const auto twin = run_cluster("cluster-3");
  ASSERT_TRUE(ok(twin));
  EXPECT_TRUE(is_pinned(placeholder_, {noise_, cluster_, *twin})) << "it cannot know which";
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Lend, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
