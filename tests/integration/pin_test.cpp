// What a rank gets and what others lose: creation, refusal, resize, end.
#include <algorithm>

#include "base/process/memory.h"
#include "tests/integration/node.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kLook{400};
constexpr Milliseconds kSoon{30'000};

class Root_Containerd_Pin : public NodeTest {};

TEST_P(Root_Containerd_Pin, ARankHasItsCoreToItself) {
  ASSERT_TRUE(ok(start_agent()));
  const auto burstable = run_burstable("burstable");
  ASSERT_TRUE(ok(burstable));
  const auto best_effort = run_best_effort("best-effort");
  ASSERT_TRUE(ok(best_effort));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  ASSERT_TRUE(is_pinned(*rank, {*burstable, *best_effort}));
  const CpuSet own = file(*rank);
  EXPECT_FALSE(own.intersects(machine().reserved));
  EXPECT_TRUE(tasks_allowed(*rank, own));
  EXPECT_TRUE(tasks_allowed(*burstable, file(*burstable)));
  EXPECT_TRUE(tasks_allowed(*best_effort, file(*best_effort)));
  CpuSet seen;  // nothing as long as the machine has no time for it
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    seen = ran_on(*rank, kLook);
    return !seen.empty();
  }));
  EXPECT_TRUE(seen.is_subset_of(own)) << seen.to_string();
  EXPECT_FALSE(ran_on(*burstable, kLook).intersects(own));
  EXPECT_FALSE(ran_on(*best_effort, kLook).intersects(own));
  EXPECT_TRUE(no_drift());
}

TEST_P(Root_Containerd_Pin, MemoryFollowsTheCores) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto mems = node().cgroups().mems(rank->cgroup);
  ASSERT_TRUE(ok(mems));
  EXPECT_EQ(mems->to_string(), machine().topology.nodes_of(file(*rank)).to_string());
}

TEST_P(Root_Containerd_Pin, TheFirstInstructionRunsOnItsOwnCore) {
  ASSERT_TRUE(ok(start_agent()));
  // The program itself notes, as its first act, what it is allowed.
  auto spec = rank_spec("rank");
  spec.containers[0].command = {"/bin/busybox", "sh", "-c",
                                "while read k v; do [ $k = Cpus_allowed_list: ] && echo $v; done "
                                "</proc/self/status >/tmp/first;"
                                "while :; do :; done"};
  const auto rank = run(spec);
  ASSERT_TRUE(ok(rank));
  std::string first;
  ASSERT_TRUE(lab::eventually(kSoon, [&] {
    const auto answer = node().cri().exec(rank->id, {"/bin/busybox", "cat", "/tmp/first"});
    first = answer && answer->exit_code == 0 ? answer->output : "";
    return !first.empty();
  }));
  EXPECT_EQ(first, file(*rank).to_string() + "\n");
}

TEST_P(Root_Containerd_Pin, WhatIsExecutedInARankStaysOnItsCore) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto answer = node().cri().exec(
      rank->id, {"/bin/busybox", "grep", "Cpus_allowed_list", "/proc/self/status"});
  ASSERT_TRUE(ok(answer));
  EXPECT_EQ(answer->output, "Cpus_allowed_list:\t" + file(*rank).to_string() + "\n");
}

TEST_P(Root_Containerd_Pin, ASharedContainerThatComesLaterStaysOff) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto burstable = run_burstable("burstable");
  ASSERT_TRUE(ok(burstable));
  const auto best_effort = run_best_effort("best-effort");
  ASSERT_TRUE(ok(best_effort));
  EXPECT_TRUE(is_pinned(*rank, {*burstable, *best_effort}));
  EXPECT_FALSE(ran_on(*burstable, kLook).intersects(file(*rank)));
  EXPECT_FALSE(ran_on(*best_effort, kLook).intersects(file(*rank)));
}

TEST_P(Root_Containerd_Pin, WhatDoesNotFitIsRefusedWithTheReason) {
  ASSERT_TRUE(ok(start_agent()));
  auto spec = lab::guaranteed_pod("too-big", machine().topology.online.count(), {});
  spec.annotations["pinion.dev/strength"] = "required";
  const auto pod = node().run_pod(spec);
  ASSERT_TRUE(ok(pod));
  const auto id = node().create_container(*pod, spec.containers[0]);
  ASSERT_FALSE(id) << "it was created";
  // On several NUMA nodes no node could ever hold it: "not enough CPUs in any NUMA node, even
  // when".
  EXPECT_NE(id.error().text.find("not enough "), std::string::npos) << id.error().text;
  // The failed create has taken nothing: all that there is still fits.
  std::vector<Running> ranks;
  for (int i = 0; i < machine().ranks; ++i) {
    const auto rank = run_rank("rank-" + std::to_string(i));
    ASSERT_TRUE(ok(rank)) << "rank " << i;
    ranks.push_back(*rank);
  }
  // And one more does not.
  const auto more = run_rank("one-more");
  ASSERT_FALSE(more) << "one rank too many on " << file(*more).to_string();
  EXPECT_NE(more.error().text.find("not enough free CPUs"), std::string::npos) << more.error().text;
  // Nor has the refusal of that moved anyone.
  for (const auto& rank : ranks) EXPECT_TRUE(is_pinned(rank, {}));
}

// A Burstable one's request reaches the agent by its oom_score_adj alone.
TEST_P(Root_Containerd_Pin, WhatASharedContainerRequestsIsKeptFromRanks) {
  ASSERT_TRUE(ok(start_agent()));
  const std::uint64_t memory = machine_memory();
  auto spec = lab::burstable_pod("web", 100, {});
  spec.containers[0].memory_request = static_cast<std::int64_t>(memory / 2);
  const auto web = run(spec);
  ASSERT_TRUE(ok(web));
  const auto status = agent().status();
  ASSERT_TRUE(ok(status));
  EXPECT_LE(status->shared_memory, memory / 2);
  EXPECT_GE(status->shared_memory, memory / 2 - memory / 500);

  lab::PodSpec large = rank_spec("rank");
  const auto most =
      std::max_element(machine().topology.nodes.begin(), machine().topology.nodes.end(),
                       [](const auto& a, const auto& b) { return a.memory < b.memory; });
  lab::ContainerSpec& rank = large.containers[0];
  rank.memory_request = rank.memory_limit = static_cast<std::int64_t>(most->memory / 10 * 6);
  const auto refused = run(large);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("not enough memory left"), std::string::npos)
      << refused.error().text;
  ASSERT_TRUE(ok(remove(*web)));
  large.name = "rank-again";
  EXPECT_TRUE(ok(run(large)));
}

TEST_P(Root_Containerd_Pin, AnAnnotationAloneGivesNoCores) {
  ASSERT_TRUE(ok(start_agent()));
  auto spec = lab::burstable_pod("wishful", 1000, {});
  spec.annotations["pinion.dev/cpus"] = "exclusive";
  const auto wishful = run(spec);
  ASSERT_FALSE(wishful);
  EXPECT_NE(wishful.error().text.find("Guaranteed"), std::string::npos) << wishful.error().text;
}

// An update may state everything, as the kubelet's resize does, or one field alone, as its eviction
// of memory and "crictl update" do: what is not stated (0 in CRI) stays.
TEST_P(Root_Containerd_Pin, AnUpdateOfOtherResourcesLeavesTheCores) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const CpuSet own = file(*rank);
  lab::LinuxResources all = lab::resources_of(rank->pod.spec, rank->pod.spec.containers[0]);
  all.memory = 96LL << 20;
  lab::LinuxResources memory;
  memory.memory = 128LL << 20;
  lab::LinuxResources shares;
  shares.cpu_shares = all.cpu_shares;
  struct Case {
    const char* name;
    const Running* target;
    lab::LinuxResources resources;
  };
  for (const auto& test :
       {Case{"rank, everything", &*rank, all}, Case{"rank, memory alone", &*rank, memory},
        Case{"rank, shares alone", &*rank, shares}, Case{"noise, memory alone", &*noise, memory},
        Case{"noise, shares alone", &*noise, shares}}) {
    SCOPED_TRACE(test.name);
    ASSERT_TRUE(ok(node().cri().update_resources(test.target->id, test.resources)));
    EXPECT_EQ(file(*rank), own);
    EXPECT_TRUE(is_pinned(*rank, {*noise}));
  }
  EXPECT_TRUE(no_drift());
}

TEST_P(Root_Containerd_Pin, AResizeThatDoesNotFitIsRefusedAndChangesNothing) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const CpuSet before = file(*rank);
  auto bigger = lab::guaranteed_pod("rank", machine().topology.online.count(), {});
  const auto wanted = lab::resources_of(bigger, bigger.containers[0]);
  const Status resized = node().cri().update_resources(rank->id, wanted);
  EXPECT_FALSE(resized) << "it was resized to " << file(*rank).to_string();
  EXPECT_EQ(file(*rank), before);
  EXPECT_TRUE(is_pinned(*rank, {}));
}

// A memory limit below what is in use: the agent agrees, and then the kernel refuses.
TEST_P(Root_Containerd_Pin, AResizeThatTheRuntimeRefusesChangesNothing) {
  ASSERT_TRUE(ok(start_agent()));
  const auto sized = [](int milli) {
    auto pod = lab::guaranteed_pod("rank", 1, lab::spin(1));
    pod.containers[0].cpu_request = pod.containers[0].cpu_limit = milli;
    return pod;
  };
  const auto with_too_little_memory = [&](int milli) {
    const auto pod = sized(milli);
    auto resources = lab::resources_of(pod, pod.containers[0]);
    resources.memory = 4096;
    return resources;
  };
  const int whole = 1000 * machine().width;
  const auto said = [&](int times) {
    return lab::eventually(kSoon, [&] {
      const std::string log = lab::read_file(agent().log()).value_or("");
      int found = 0;
      const std::string text = "the runtime has not done a resize";
      for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++found;
      return found >= times;
    });
  };
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const CpuSet shared = file(*noise);
  std::vector<Running> ranks;
  for (int i = 0; i < machine().ranks; ++i) {
    const auto rank = run_rank("rank" + std::to_string(i));
    ASSERT_TRUE(ok(rank));
    ranks.push_back(*rank);
  }

  EXPECT_FALSE(node().cri().update_resources(ranks[0].id, with_too_little_memory(500)));
  EXPECT_FALSE(run_rank("early")) << "it still runs on its core";
  EXPECT_TRUE(said(1));
  EXPECT_FALSE(run_rank("late")) << "it still runs on its core";
  EXPECT_TRUE(is_pinned(ranks[0], {*noise}));

  for (const Running& rank : ranks) ASSERT_TRUE(ok(remove(rank)));
  const auto small = run(sized(500));
  ASSERT_TRUE(ok(small));
  EXPECT_FALSE(node().cri().update_resources(small->id, with_too_little_memory(whole)));
  EXPECT_TRUE(said(2));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return file(*noise) == shared; }));
  EXPECT_EQ(file(*small), shared);
  EXPECT_TRUE(ok(run_rank("next"))) << "what was reserved is free";
  EXPECT_TRUE(no_drift());
}

// From a part of a CPU, which is shared, to a whole core and back: needs one spare core.
TEST_P(Root_Containerd_Pin, AResizeToAWholeCoreTakesItAndBackReturnsIt) {
  ASSERT_TRUE(ok(start_agent()));
  const int whole = 1000 * machine().width;
  const auto sized = [](int milli) {
    auto pod = lab::guaranteed_pod("rank", 1, lab::spin(1));
    pod.containers[0].cpu_request = pod.containers[0].cpu_limit = milli;
    return pod;
  };
  const auto resources = [&](int milli) {
    const auto pod = sized(milli);
    return lab::resources_of(pod, pod.containers[0]);
  };
  const auto rank = run(sized(500));
  ASSERT_TRUE(ok(rank));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const CpuSet shared = file(*noise);
  EXPECT_EQ(file(*rank), shared);
  ASSERT_TRUE(ok(node().cri().update_resources(rank->id, resources(whole))));
  EXPECT_TRUE(is_pinned(*rank, {*noise}));
  ASSERT_TRUE(ok(node().cri().update_resources(rank->id, resources(500))));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return file(*noise) == shared; }));
  EXPECT_EQ(file(*rank), shared);
}

// With two spare cores it also grows from one to two and back. A machine of two CPUs has no room
// for that; the engine's own tests cover it there.
TEST_P(Root_Containerd_Pin, AResizeGrowsAndShrinksBesideTheCoresItHas) {
  ASSERT_TRUE(ok(start_agent()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const CpuSet before = file(*rank);
  const auto sized = [&](int cpus) {
    auto pod = lab::guaranteed_pod("rank", cpus, {});
    return lab::resources_of(pod, pod.containers[0]);
  };
  if (machine().ranks < 2) {
    EXPECT_FALSE(node().cri().update_resources(rank->id, sized(2 * machine().width)));
    EXPECT_EQ(file(*rank), before);
    EXPECT_TRUE(is_pinned(*rank, {*noise}));
    return;
  }
  ASSERT_TRUE(ok(node().cri().update_resources(rank->id, sized(2 * machine().width))));
  EXPECT_EQ(file(*rank).count(), 2 * machine().width);
  EXPECT_TRUE(before.is_subset_of(file(*rank)));
  EXPECT_FALSE(file(*noise).intersects(file(*rank)));
  const CpuSet grown = file(*rank);
  ASSERT_TRUE(ok(node().cri().update_resources(rank->id, sized(machine().width))));
  EXPECT_TRUE(file(*rank).is_subset_of(grown));
  EXPECT_TRUE(is_pinned(*rank, {*noise}));
}

TEST_P(Root_Containerd_Pin, AStopGivesTheCoresBack) {
  ASSERT_TRUE(ok(start_agent()));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const CpuSet before = file(*noise);
  for (const char* name : {"first", "second", "third"}) {
    SCOPED_TRACE(name);
    const auto rank = run_rank(name);
    ASSERT_TRUE(ok(rank));
    EXPECT_TRUE(is_pinned(*rank, {*noise}));
    ASSERT_TRUE(ok(remove(*rank)));
    EXPECT_TRUE(lab::eventually(kSoon, [&] { return file(*noise) == before; }))
        << file(*noise).to_string() << ", before " << before.to_string();
  }
}

// As systemd or Docker makes them inside a container.
TEST_P(Root_Containerd_Pin, GroupsInsideAContainerFollowItAndGrowBack) {
  lab::CgroupTree tree = node().cgroups();
  if (tree.unified()) GTEST_SKIP() << "on v2 a group with processes has no cpusets inside";
  ASSERT_TRUE(ok(start_agent()));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const CpuSet all = file(*noise);
  const std::string inner = noise->cgroup + "/inner/innermost";
  ASSERT_TRUE(ok(tree.create(inner, 0)));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  EXPECT_TRUE(is_pinned(*rank, {*noise}));
  EXPECT_EQ(tree.cpus(inner).value_or(CpuSet()), file(*noise));
  ASSERT_TRUE(ok(remove(*rank)));
  EXPECT_TRUE(lab::eventually(kSoon, [&] { return tree.cpus(inner) == all; }));
  EXPECT_TRUE(ok(tree.remove(noise->cgroup + "/inner")));
}

// As the kubelet does it: when all containers have ended for good, it stops the sandbox.
TEST_P(Root_Containerd_Pin, APodWhoseProgramEndsByItselfGivesTheCoresBack) {
  ASSERT_TRUE(ok(start_agent()));
  auto spec = rank_spec("short");
  spec.containers[0].command = {"/bin/busybox", "true"};
  const auto finished = run(spec);
  ASSERT_TRUE(ok(finished));
  ASSERT_TRUE(lab::eventually(kSoon, [&] {
    const auto status = node().cri().container_status(finished->id);
    return status && status->state == lab::ContainerState::kExited;
  }));
  // containerd says so to us a moment before it says so to the agent.
  ASSERT_TRUE(lab::eventually(kSoon, [&] {
    const auto status = agent().status();
    return status && status->find(finished->id) == nullptr;
  }));
  ASSERT_TRUE(ok(node().cri().stop_pod(finished->pod.id)));
  std::vector<Running> ranks;
  for (int i = 0; i < machine().ranks; ++i) {
    const auto rank = run_rank("rank-" + std::to_string(i));
    ASSERT_TRUE(ok(rank));
    ranks.push_back(*rank);
  }
  EXPECT_TRUE(is_pinned(ranks.front(), {}));
}

TEST_P(Root_Containerd_Pin, ACreatedContainerThatNeverStartsGivesTheCoresBack) {
  ASSERT_TRUE(ok(start_agent()));
  for (int round = 0; round < 2 * machine().ranks + 2; ++round) {
    const auto spec = rank_spec("never-" + std::to_string(round));
    const auto pod = node().run_pod(spec);
    ASSERT_TRUE(ok(pod));
    const auto id = node().create_container(*pod, spec.containers[0]);
    ASSERT_TRUE(ok(id)) << "round " << round;
    ASSERT_TRUE(ok(node().cri().remove_container(*id)));
    ASSERT_TRUE(ok(node().remove_pod(*pod)));
  }
}

TEST_P(Root_Containerd_Pin, AForeignWriteToTheFileIsRepairedAndCounted) {
  ASSERT_TRUE(ok(start_agent({.more = {"--audit-interval", "200ms"}})));
  const auto noise = run_burstable("noise");
  ASSERT_TRUE(ok(noise));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const CpuSet own = file(*rank);
  const auto before = agent().status();
  ASSERT_TRUE(ok(before));
  for (const auto* victim : {&*noise, &*rank}) {
    const std::string path = node().cgroups().cpuset_dir(victim->cgroup) + "/cpuset.cpus";
    ASSERT_TRUE(ok(lab::write_existing(path, machine().topology.online.to_string())));
  }
  EXPECT_TRUE(becomes_pinned(*rank, {*noise}, kSoon));
  EXPECT_EQ(file(*rank), own);
  EXPECT_TRUE(lab::eventually(kSoon, [&] {
    const auto after = agent().status();
    return after && after->counters.at("drift") >= before->counters.at("drift") + 2;
  }));
}

INSTANTIATE_TEST_SUITE_P(Both, Root_Containerd_Pin, every_containerd(), version_name);

}  // namespace
}  // namespace pinion::integration
