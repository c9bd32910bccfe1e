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
    EXPECT_EQ(demand.inits.empty() ? "" : demand.requests.at(demand.host).id, test.host);
  }
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

// As the agent tells: what the pod as a whole requests is its own until it has ended.
TEST_F(PodSchedulerTest, WhatAPodKeepsAfterALargeInitContainerIsNobodyElses) {
  const Pod pod = with(with(pod_of("p", 2), "side", 1, PodContainer::Kind::kMain), "i", 5);
  ASSERT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  pod_scheduler_.bound("p", true, now_);
  report("a", {{"p/i", 5}});
  EXPECT_EQ(filtered(pod_of("other", 2)), "b");
  EXPECT_EQ(filtered(pod_of("small", 1)), "ab");
  report("a", {{"p/main", 2}, {"p/", 3}});
  EXPECT_EQ(filtered(pod_of("other", 3)), "b") << "the other one's promise is held once";
  EXPECT_EQ(filtered(pod_of("other", 2)), "ab");
  report("a", {{"p/main", 2}, {"p/side", 1}, {"p/", 2}});
  EXPECT_EQ(filtered(pod_of("other", 3)), "b");
  EXPECT_EQ(filtered(pod_of("other", 2)), "ab");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(pod_scheduler_.fleet().node(0).ledger.claims().size(), 2U) << "it ends with them";
  report("a", {});
  EXPECT_EQ(filtered(pod_of("other", 3)), "ab");
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
