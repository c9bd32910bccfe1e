// The pod owns its cores: what crashes comes back to them, and what comes later in the pod has
// them.
#include "tests/integration/node.h"

namespace pinion::integration {
namespace {

using testing::AssertionResult;

class Root_Containerd_Pod : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(ok(start_agent()));
    const auto noise = run(lab::burstable_pod("noise", 200, {}));
    ASSERT_TRUE(ok(noise));
    noise_ = *noise;
  }

  // A pod of ranks with these names, none of them made yet. They sleep: their files tell all.
  [[nodiscard]] lab::PodSpec pod_of(const std::string& name,
                                    const std::vector<std::string>& containers) const {
    lab::PodSpec spec = lab::guaranteed_pod(name, machine().width, {});
    spec.annotations["pinion.dev/job"] = "job";
    const lab::ContainerSpec like = spec.containers.front();
    spec.containers.clear();
    for (const std::string& container : containers) {
      spec.containers.push_back(like);
      spec.containers.back().name = container;
    }
    return spec;
  }

  Result<Running> start(const lab::RunningPod& pod, lab::ContainerSpec container) {
    auto id = node().start_container(pod, container);
    if (!id) return failure(id.error());
    return Running{.pod = pod, .id = *id, .cgroup = lab::ContainerdLab::cgroup_of(pod, *id)};
  }

  // The id of a container that is made and cannot be started; it is there until it is removed.
  Result<std::string> fail_to_start(const lab::RunningPod& pod,
                                    const lab::ContainerSpec& container) {
    auto id = node().create_container(pod, container);
    if (!id) return failure(id.error());
    if (node().cri().start_container(*id)) return failure(Errc::kInternal, "it has started");
    const auto status = node().cri().container_status(*id);
    if (!status) return failure(status.error());
    if (status->state != lab::ContainerState::kExited) {
      return failure(Errc::kInternal, "it has not ended: " + status->reason);
    }
    return *id;
  }

  // The CPUs of an exclusive container that does not run, by what the agent says.
  CpuSet decided(const std::string& id) {
    const auto status = agent().status();
    const auto* known = status ? status->find(id) : nullptr;
    return known != nullptr && known->exclusive ? known->decided : CpuSet();
  }

  // So many more cores can be had beside the pod, and no more.
  AssertionResult is_full_with(int more) {
    const std::string name = "other-" + std::to_string(++others_);
    std::vector<Running> others;
    AssertionResult full = testing::AssertionSuccess();
    if (more > 0) {
      // One of them all, as they may be many, in whatever nodes.
      lab::PodSpec spec = lab::guaranteed_pod(name, more * machine().width, {});
      spec.annotations["pinion.dev/strength"] = "preferred";
      const auto all = run(spec);
      if (!all) return testing::AssertionFailure() << all.error().text;
      others.push_back(*all);
      if (file(*all).count() != more * machine().width) {
        full = testing::AssertionFailure() << "the others' cores are " << file(*all).to_string();
      }
    }
    const auto next = run(pod_of(name + "-next", {"main"}));
    if (next) {
      others.push_back(*next);
      full = testing::AssertionFailure() << "one too many fits";
    } else if (next.error().text.find("not enough free CPUs") == std::string::npos) {
      full = testing::AssertionFailure() << next.error().text;
    }
    for (const Running& other : others) {
      if (!remove(other)) full = testing::AssertionFailure() << "a rank could not be removed";
    }
    return full;
  }

  Running noise_;
  int others_ = 0;
};

TEST_P(Root_Containerd_Pod, ACrashLoopComesBackToItsCores) {
  const auto pod = node().run_pod(pod_of("crashing", {"main"}));
  ASSERT_TRUE(ok(pod));
  lab::ContainerSpec main = pod->spec.containers.front();
  CpuSet own;
  for (const std::uint32_t attempt : {0U, 2U, 3U}) {
    SCOPED_TRACE(attempt);
    main.attempt = attempt;
    const auto rank = start(*pod, main);
    ASSERT_TRUE(ok(rank));
    EXPECT_TRUE(is_pinned(*rank, {noise_}));
    if (attempt == 0) own = file(*rank);
    EXPECT_EQ(file(*rank), own);
    ASSERT_TRUE(ok(node().cri().stop_container(rank->id)));
    EXPECT_TRUE(is_full_with(machine().ranks - 1)) << "nobody gets between";
    if (attempt != 0) continue;
    main.attempt = 1;
    ASSERT_TRUE(ok(node().create_container(*pod, main))) << "made, and never started";
  }
  ASSERT_TRUE(ok(node().remove_pod(*pod)));
  EXPECT_TRUE(is_full_with(machine().ranks)) << "all is given back with the pod";
  EXPECT_TRUE(no_drift());
}

// A container whose program is missing is tried again, as the kubelet does where the pod's
// restartPolicy allows it: no event of NRI tells a failed start from one that is still to come.
TEST_P(Root_Containerd_Pod, AProgramThatCannotBeStartedKeepsItsCoresForTheNextTry) {
  const auto pod = node().run_pod(pod_of("missing", {"main"}));
  ASSERT_TRUE(ok(pod));
  lab::ContainerSpec main = pod->spec.containers.front();
  const std::vector<std::string> program = main.command;
  main.command = {"/no/such/program"};
  const auto failed = fail_to_start(*pod, main);
  ASSERT_TRUE(ok(failed));
  EXPECT_TRUE(is_full_with(machine().ranks - 1)) << "nobody gets between";
  const CpuSet own = decided(*failed);
  EXPECT_EQ(own.count(), machine().width);

  main.attempt = 1;
  const auto again = fail_to_start(*pod, main);
  ASSERT_TRUE(ok(again));
  EXPECT_EQ(decided(*again), own);
  EXPECT_TRUE(is_full_with(machine().ranks - 1));

  const std::string state = agent().api_socket().substr(0, agent().api_socket().rfind('/'));
  ASSERT_TRUE(lab::eventually(Milliseconds(10'000), [&] {
    const auto kept = lab::read_file(state + "/kept-cores");
    return kept && kept->find(pod->id) != std::string::npos;
  }));
  agent().kill();  // the runtime lists no container that has ended
  ASSERT_TRUE(ok(start_agent()));
  EXPECT_TRUE(is_full_with(machine().ranks - 1)) << "nor while no agent runs";

  main.attempt = 2;
  main.command = program;
  const auto rank = start(*pod, main);
  ASSERT_TRUE(ok(rank));
  EXPECT_EQ(file(*rank), own);
  EXPECT_TRUE(is_pinned(*rank, {noise_}));
  EXPECT_TRUE(no_drift());
}

TEST_P(Root_Containerd_Pod, AProgramThatCannotBeStartedGivesItsCoresBackWithItsPod) {
  const auto pod = node().run_pod(pod_of("never", {"main"}));
  ASSERT_TRUE(ok(pod));
  lab::ContainerSpec main = pod->spec.containers.front();
  main.command = {"/no/such/program"};
  const auto failed = fail_to_start(*pod, main);
  ASSERT_TRUE(ok(failed));
  EXPECT_TRUE(is_full_with(machine().ranks - 1));
  // restartPolicy Never: the pod has failed, and the kubelet stops its sandbox. It stops no
  // container that does not run, and removes all much later.
  ASSERT_TRUE(ok(node().cri().stop_pod(pod->id)));
  EXPECT_TRUE(is_full_with(machine().ranks));
  ASSERT_TRUE(ok(node().remove_pod(*pod)));

  const auto removed = node().run_pod(pod_of("removed", {"main"}));
  ASSERT_TRUE(ok(removed));
  const auto last = fail_to_start(*removed, main);
  ASSERT_TRUE(ok(last));
  ASSERT_TRUE(ok(node().cri().remove_container(*last)));
  EXPECT_TRUE(is_full_with(machine().ranks)) << "it was the pod's only one";
}

TEST_P(Root_Containerd_Pod, APodKeepsItsCoresOverARestartOfTheAgentWhileItsSandboxRuns) {
  const auto pod = node().run_pod(pod_of("crashing", {"main"}));
  ASSERT_TRUE(ok(pod));
  lab::ContainerSpec main = pod->spec.containers.front();
  const auto first = start(*pod, main);
  ASSERT_TRUE(ok(first));
  const CpuSet own = file(*first);
  ASSERT_TRUE(ok(node().cri().stop_container(first->id)));
  agent().kill();
  ASSERT_TRUE(ok(start_agent()));
  EXPECT_TRUE(is_full_with(machine().ranks - 1)) << "nobody gets between";
  main.attempt = 1;
  const auto second = start(*pod, main);
  ASSERT_TRUE(ok(second));
  EXPECT_EQ(file(*second), own);
  ASSERT_TRUE(ok(node().cri().stop_container(second->id)));
  agent().kill();
  ASSERT_TRUE(ok(node().cri().stop_pod(pod->id)));  // it is listed until it is removed
  ASSERT_TRUE(ok(start_agent()));
  EXPECT_TRUE(is_full_with(machine().ranks));
  ASSERT_TRUE(ok(node().remove_pod(*pod)));
}

TEST_P(Root_Containerd_Pod, AnInitContainerHandsItsCoresToTheMainOne) {
  lab::PodSpec spec = pod_of("staged", {"main"});
  const auto pod = node().run_pod(spec);
  ASSERT_TRUE(ok(pod));
  lab::ContainerSpec init = spec.containers.front();
  init.name = "init";
  const auto first = start(*pod, init);
  ASSERT_TRUE(ok(first));
  const CpuSet own = file(*first);
  ASSERT_TRUE(ok(node().cri().stop_container(first->id)));
  EXPECT_TRUE(is_full_with(machine().ranks - 1)) << "nobody gets between";
  const auto main = start(*pod, spec.containers.front());
  ASSERT_TRUE(ok(main));
  EXPECT_EQ(file(*main), own);
  ASSERT_TRUE(ok(node().cri().remove_container(first->id)));
  EXPECT_TRUE(is_pinned(*main, {noise_}));
  EXPECT_TRUE(is_full_with(machine().ranks - 1));
}

TEST_P(Root_Containerd_Pod, APodIsAdmittedWholeOrNotAtAll) {
  std::vector<std::string> names;
  for (int i = 0; i <= machine().ranks; ++i) names.push_back("c" + std::to_string(i));
  const auto large = node().run_pod(pod_of("large", names));
  ASSERT_TRUE(ok(large));
  const auto refused = start(*large, large->spec.containers.front());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("which have no room beside it"), std::string::npos)
      << refused.error().text;
  EXPECT_TRUE(is_full_with(machine().ranks)) << "it holds nothing";

  names.pop_back();
  const auto fitting = node().run_pod(pod_of("fitting", names));
  ASSERT_TRUE(ok(fitting));
  for (const lab::ContainerSpec& container : fitting->spec.containers) {
    const auto rank = start(*fitting, container);
    ASSERT_TRUE(ok(rank));
    EXPECT_TRUE(is_pinned(*rank, {noise_}));
    EXPECT_TRUE(is_full_with(0)) << "those of the others are held from the first on";
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Pod, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
