// Init containers with whole CPUs: they run before the others, on the CPUs that wait for those.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

PodContainer container_of(const std::string& name, int cpus, PodContainer::Kind kind) {
  return {.name = name, .milli_cpus = 1000 * cpus, .memory = kGiB, .kind = kind};
}

Pod with(Pod pod, const std::string& name, int cpus,
         PodContainer::Kind kind = PodContainer::Kind::kInit) {
  pod.containers.insert(pod.containers.begin(), container_of(name, cpus, kind));
  return pod;
}

struct InitCase {
  const char* name;
  Pod pod;
  std::vector<std::string> requests;  // "ID CPUS"
  std::string host;                   // "" where there are no init containers to lend to
};

TEST(InitContainers, WhatAPodAsksFor) {
  const auto sidecar = PodContainer::Kind::kSidecar;
  Pod shared = pod_of("p", 1);
  shared.containers[0].milli_cpus = 500;
  const std::vector<InitCase> cases{
      {"none", pod_of("p", 2), {"p/main 2"}, ""},
      {"smaller", with(pod_of("p", 2), "i", 1), {"p/main 2"}, "p/main"},
      {"larger", with(pod_of("p", 2), "i", 3), {"p/main 3"}, "p/main"},
      {"two of them", with(with(pod_of("p", 2), "i", 3), "k", 4), {"p/main 4"}, "p/main"},
      {"beside a sidecar",
       with(with(pod_of("p", 2), "i", 3), "s", 5, sidecar),
       {"p/s 5", "p/main 3"},
       "p/main"},
      {"where nobody else has any", with(with(shared, "i", 3), "k", 2), {"p/i 3"}, "p/i"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const Demand demand = demand_of(test.pod, policy::Defaults());
    std::vector<std::string> requests;
    for (const auto& request : demand.requests) {
      requests.push_back(request.id + " " + std::to_string(request.cpus));
    }
    EXPECT_EQ(requests, test.requests);
    EXPECT_EQ(demand.guests.empty() ? "" : demand.requests.at(demand.host).id, test.host);
  }
}

// Of who is bound, and as many CPUs as it asks for: everybody may write annotations.
TEST(InitContainers, WhatIsPlannedIsHeededWhereItMayBe) {
  Pod pod = with(pod_of("p", 2), "i", 3);
  policy::Defaults defaults;
  defaults.privileges = {policy::Privilege::kOnePerCore};
  const auto planned = [&](const std::string& node, const std::string& cpus) {
    pod.node = node;
    pod.annotations["pinion.dev/planned"] = "main=" + cpus;
    return demand_of(pod, defaults).requests.at(0).preferred.to_string();
  };
  EXPECT_EQ(planned("a", "4-6"), "4-6");
  EXPECT_EQ(planned("", "4-6"), "");
  EXPECT_EQ(planned("a", "4-5"), "");
  EXPECT_EQ(planned("a", "0-7"), "");
  pod.annotations["pinion.dev/smt"] = "one-per-core";
  EXPECT_EQ(planned("a", "1-6"), "1-6");
  EXPECT_EQ(planned("a", "0-63"), "");
}

TEST_F(PodSchedulerTest, WhileAnInitContainerRunsTheOthersKeepTheirRoom) {
  const Pod pod = with(pod_of("p", 6), "i", 2);
  EXPECT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  EXPECT_EQ(pod_scheduler_.told_with_binding("p")["pinion.dev/planned"], "main=1-6 i=1-6");
  pod_scheduler_.bound("p", true, now_);
  report("a", {{"p/i", 2}});
  EXPECT_EQ(filtered(pod_of("other", 2)), "b") << "one CPU is free beside the six";
  EXPECT_EQ(filtered(pod_of("small", 1)), "ab");
  report("a", {});
  EXPECT_EQ(filtered(pod_of("other", 2)), "b") << "between the two";
  report("a", {{"p/main", 6}});
  EXPECT_EQ(filtered(pod_of("other", 2)), "b");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
}

// Its owner patches the annotation that kept one container off: another one is lent to.
TEST_F(PodSchedulerTest, WhoIsLentToMayBeAnotherOneBeforeThePodIsBound) {
  Pod pod = with(pod_of("p", 2, {{"cpus.side", "shared"}}), "i", 2);
  pod.containers.push_back(container_of("side", 4, PodContainer::Kind::kMain));
  ASSERT_TRUE(pod_scheduler_.seen(pod, now_));
  pod.annotations.erase("pinion.dev/cpus.side");
  ASSERT_TRUE(pod_scheduler_.seen(pod, now_));
  ASSERT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  EXPECT_EQ(pod_scheduler_.told_with_binding("p")["pinion.dev/planned"], "main=1-2 side=3-6 i=3-6");
}

// Their agent gives them to all when a container comes that has none.
TEST_F(PodSchedulerTest, CoresOfInitContainersAloneAreFreeWhenThoseAreOver) {
  Pod pod = pod_of("p", 1);
  pod.containers[0].milli_cpus = 50;
  pod = with(pod, "i", 3);
  ASSERT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  pod_scheduler_.bound("p", true, now_);
  pod.node = "a";
  ASSERT_TRUE(pod_scheduler_.seen(pod, now_));
  report("a", {{"p/i", 3}});
  EXPECT_EQ(filtered(pod_of("other", 5)), "b");
  report("a", {});
  EXPECT_EQ(filtered(pod_of("other", 5)), "b") << "another one may come";
  pod.initialized = true;
  ASSERT_TRUE(pod_scheduler_.seen(pod, now_));
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(filtered(pod_of("other", 5)), "ab");
  // Its sandbox was made anew, and all of it begins again.
  pod.initialized = false;
  ASSERT_TRUE(pod_scheduler_.seen(pod, now_));
  EXPECT_EQ(filtered(pod_of("other", 5)), "b");
}

// As the agent tells: what the pod as a whole requests is its own until it has ended.
TEST_F(PodSchedulerTest, WhatAPodKeepsAfterALargeInitContainerIsNobodyElses) {
  Pod pod = with(pod_of("p", 2), "i", 5);
  pod.containers.push_back(container_of("side", 1, PodContainer::Kind::kMain));
  ASSERT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  EXPECT_EQ(pod_scheduler_.told_with_binding("p")["pinion.dev/planned"], "main=1-5 side=6 i=1-5");
  pod_scheduler_.bound("p", true, now_);
  report("a", {{"p/i", 5}});
  EXPECT_EQ(filtered(pod_of("other", 2)), "b");
  EXPECT_EQ(filtered(pod_of("small", 1)), "ab");
  report("a", {{"p/main", 2}, {"p/", 3}});
  EXPECT_EQ(filtered(pod_of("other", 2)), "b") << "until the other one is where it was planned";
  report("a", {{"p/main", 2}, {"p/side", 1}, {"p/", 2}});
  EXPECT_EQ(filtered(pod_of("other", 3)), "b");
  EXPECT_EQ(filtered(pod_of("other", 2)), "ab");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(pod_scheduler_.fleet().node(0).ledger.claims().size(), 2U) << "it ends with them";
  report("a", {});
  EXPECT_EQ(filtered(pod_of("other", 3)), "ab");
}

// Whole cores of it count as those that are promised elsewhere, to a pod whose agent was not told
// where.
TEST_F(PodSchedulerTest, WhatAPodKeepsLeavesNoHalvesOfCores) {
  const auto machine =
      machine_of({.cores_per_l3 = 8, .threads_per_core = 2, .memory_per_node = 64 * kGiB});
  const auto cores = [&](std::size_t from, std::size_t to) {
    topology::CpuSet all;
    for (std::size_t i = from; i <= to; ++i) all |= machine->cores[i].cpus;
    return all.to_string();
  };
  const auto tell = [&](const std::vector<topology::Claim>& claims) {
    NodeReport report = report_of("c", machine, machine->cores[0].cpus);
    report.generation = ++generation_;
    report.claims = claims;
    ASSERT_TRUE(pod_scheduler_.report(std::move(report), now_));
  };
  tell({});
  Pod pod = with(with(pod_of("p", 4), "side", 2, PodContainer::Kind::kMain), "i", 10);
  pod.node = "c";
  ASSERT_TRUE(pod_scheduler_.seen(pod, now_));
  tell({claim_of("p/main", cores(1, 2)), claim_of("p/", cores(3, 5))});
  EXPECT_EQ(filtered(pod_of("other", 4, {{"smt", "full-core"}}), {"c"}), "c") << text_for(0);
}

// Whoever of the API server and the agent speaks first.
TEST_F(PodSchedulerTest, AfterARestartAPromiseSpeaksForWhatIsKept) {
  for (const bool told_first : {true, false}) {
    SCOPED_TRACE(told_first);
    const std::string name = told_first ? "first" : "later";
    Pod pod = with(pod_of(name, 2), "side", 2, PodContainer::Kind::kMain);
    pod.node = told_first ? "c" : "a";
    const auto taken = [&] {
      const Fleet& fleet = pod_scheduler_.fleet();
      return fleet.node(fleet.find(pod.node)).ledger.exclusive().count();
    };
    const auto report_it = [&] { report(pod.node, {{name + "/main", 2}, {name + "/", 2}}); };
    if (!told_first) report_it();
    EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
    if (told_first) report_it();
    EXPECT_EQ(taken(), 4);
    report(pod.node, {{name + "/main", 2}, {name + "/side", 2}});
    EXPECT_EQ(taken(), 4);
  }
}

TEST_F(PodSchedulerTest, AfterARestartWhatAPodKeepsBeyondItsContainersIsNobodyElses) {
  for (const bool told_first : {true, false}) {
    SCOPED_TRACE(told_first);
    Pod pod = with(pod_of(told_first ? "first" : "later", 2), "i", 5);
    pod.containers.push_back(container_of("side", 1, PodContainer::Kind::kMain));
    pod.node = told_first ? "c" : "a";
    pod.annotations["pinion.dev/planned"] = "main=1-5 side=6 i=1-5";
    const auto report_it = [&] { report(pod.node, {{pod.uid + "/main", 2}, {pod.uid + "/", 4}}); };
    if (!told_first) report_it();
    EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
    if (told_first) report_it();
    EXPECT_EQ(filtered(pod_of("other", 2), {pod.node}), "");
    EXPECT_EQ(filtered(pod_of("small", 1), {pod.node}), pod.node);
  }
}

TEST_F(PodSchedulerTest, WhatAPodKeepsGoesWithItForAGangOfHigherPriority) {
  std::vector<Eviction> all;
  for (const std::string node : {"a", "b"}) {
    Pod low = with(pod_of("low-" + node, 2), "i", 5);
    low.node = node;
    EXPECT_TRUE(pod_scheduler_.seen(low, now_));
    report(node, {{low.uid + "/main", 2}, {low.uid + "/", 3}});
    all.push_back({.node = node, .victims = {low.uid}});
  }
  Pod pod;
  for (int i = 0; i < 2; ++i) {
    pod = member_of("m", i, 2, 6);
    pod.priority = 5;
    pod_scheduler_.seen(pod, now_);
  }
  EXPECT_EQ(pod_scheduler_.preempt(pod, all, now_).size(), 2U);
}

TEST_F(PodSchedulerTest, RoomIsHeldWhereAPodKeepsMoreThanItUses) {
  report("b", {{"x/main", 7}});
  Pod low = with(pod_of("low", 2), "i", 5);
  low.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(low, now_));
  report("a", {{"low/main", 2}, {"low/", 3}});
  const Pod big = pod_of("big", 7);
  pod_scheduler_.seen(big, now_);
  EXPECT_EQ(filtered(big), "");
  EXPECT_EQ(filtered(pod_of("small", 2)), "") << "what is free is held for the big one";
}

TEST_F(PodSchedulerTest, AnInitContainerOnOtherCpusCountsBesideItsPodsPromise) {
  Pod pod = with(pod_of("p", 3), "i", 3);
  ASSERT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  pod.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  report("a", {{"x/main", 3}, {"p/i", 3}});  // somebody else was there first
  EXPECT_EQ(filtered(pod_of("other", 2)), "b");
  report("a", {{"x/main", 3}});
  EXPECT_EQ(filtered(pod_of("other", 2)), "b") << "promised again before anybody else is";
  EXPECT_EQ(filtered(pod_of("small", 1)), "ab");
}

}  // namespace
}  // namespace pinion::cluster
