// Pods that state their CPUs as a whole (spec.resources): which of their containers get cores.
#include "cluster/extender/pods/pod_of.h"
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

using ContainerKind = wire::ContainerView::Kind;

// As the API server tells it: Guaranteed, of 4 CPUs and 4 GiB as a whole.
wire::PodSpecView view_of(std::vector<wire::ContainerView> containers,
                          const std::map<std::string, std::string>& annotations = {}) {
  constexpr auto memory = static_cast<std::int64_t>(4 * kGiB);
  wire::PodSpecView view;
  view.uid = "p";
  view.name_space = "default";
  view.name = "p";
  for (const auto& [name, value] : annotations) view.annotations["pinion.dev/" + name] = value;
  const wire::Amounts whole{.cpu_milli = 4000, .memory_bytes = memory};
  view.pod_level = wire::Resources{.requests = whole, .limits = whole};
  view.qos = policy::Qos::kGuaranteed;
  view.containers = std::move(containers);
  return view;
}
wire::ContainerView of_all(const char* name, ContainerKind kind = ContainerKind::kMain) {
  return {.name = name, .kind = kind, .resources = {}};
}
wire::ContainerView of_its_own(const char* name, int cpus, int requested) {
  wire::ContainerView container = of_all(name);
  container.resources.limits.cpu_milli = 1000 * cpus;
  container.resources.requests.cpu_milli = 1000 * requested;
  return container;
}

struct WholeCase {
  const char* name;
  std::vector<wire::ContainerView> containers;
  std::vector<std::string> requests;  // "ID CPUS"
  std::vector<std::string> guests;    // on the CPUs of the first of these that has most
};

TEST(PodWhole, WhatItsContainersAskFor) {
  const auto init = ContainerKind::kInit;
  const auto sidecar = ContainerKind::kSidecar;
  const std::vector<WholeCase> cases{
      {"one", {of_all("a")}, {"p/a 4"}, {}},
      {"the second shares", {of_all("a"), of_all("b"), of_all("c")}, {"p/a 4"}, {"p/b", "p/c"}},
      {"one with its own comes first", {of_its_own("a", 3, 3), of_all("b")}, {"p/a 3"}, {}},
      {"it comes too late", {of_all("a"), of_its_own("b", 1, 1)}, {"p/a 4"}, {}},
      {"all with their own",
       {of_its_own("a", 3, 3), of_its_own("b", 1, 1)},
       {"p/a 3", "p/b 1"},
       {}},
      {"it requests less", {of_its_own("a", 4, 1), of_all("b")}, {"p/b 4"}, {}},
      {"an init container", {of_all("i", init), of_all("a")}, {"p/a 4"}, {"p/i"}},
      {"a sidecar has them all",
       {of_all("i", init), of_all("s", sidecar), of_all("a")},
       {"p/s 4"},
       {"p/i", "p/a"}},
      {"an init container before those with their own",
       {of_all("i", init), of_its_own("a", 2, 2), of_its_own("b", 1, 1)},
       {"p/a 4", "p/b 1"},
       {"p/i"}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const Demand demand = demand_of(cluster::pod_of(view_of(test.containers)), policy::Defaults());
    std::vector<std::string> requests;
    for (const auto& request : demand.requests) {
      requests.push_back(request.id + " " + std::to_string(request.cpus));
    }
    EXPECT_EQ(requests, test.requests);
    EXPECT_EQ(demand.guests, test.guests);
    EXPECT_EQ(demand.host, 0U);
    EXPECT_EQ(demand.requests.at(0).memory, 4 * kGiB);
  }
}

TEST(PodWhole, WhoInsistsOnCoresThatItsPodHasNotIsRefused) {
  const Demand demand =
      demand_of(cluster::pod_of(view_of({of_all("a"), of_all("b")}, {{"cpus.b", "exclusive"}})),
                policy::Defaults());
  EXPECT_EQ(demand.kind, Demand::Kind::kRefused);
  EXPECT_EQ(demand.text,
            "container b: its pod has 4 CPUs as a whole, and its other containers leave 0 of them");
}

// Before those that stay, which state their own.
TEST_F(PodSchedulerTest, AnInitContainerHasAllCpusOfItsPod) {
  const Pod pod = cluster::pod_of(
      view_of({of_all("i", ContainerKind::kInit), of_its_own("a", 2, 2), of_its_own("b", 1, 1)}));
  ASSERT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  EXPECT_EQ(pod_scheduler_.told_with_binding("p")["pinion.dev/planned"], "a=1-4 b=5 i=1-4");
  pod_scheduler_.bound("p", true, now_);
  report("a", {{"p/i", 4}});
  EXPECT_EQ(pod_scheduler_.fleet().node(0).ledger.exclusive().count(), 5);
  EXPECT_EQ(filtered(pod_of("other", 3)), "b");
  EXPECT_EQ(filtered(pod_of("small", 2)), "ab");
}

// Its agent gives a core to another container once the first has ended, or after its own restart.
TEST_F(PodSchedulerTest, ContainersThatShareTheirPodsCoresAreOnePlace) {
  const Pod pod = cluster::pod_of(view_of({of_all("a"), of_all("b")}));
  ASSERT_EQ(filtered(pod), "ab");
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  EXPECT_EQ(pod_scheduler_.told_with_binding("p")["pinion.dev/planned"], "a=1-4 b=1-4");
  pod_scheduler_.bound("p", true, now_);
  Pod bound = pod;
  bound.node = "a";
  ASSERT_TRUE(pod_scheduler_.seen(bound, now_));
  const auto others_fit_beside_four = [&] {
    EXPECT_EQ(filtered(pod_of("other", 4)), "b");
    EXPECT_EQ(filtered(pod_of("small", 3)), "ab");
  };
  others_fit_beside_four();
  report("a", {{"p/a", 4}});
  others_fit_beside_four();
  report("a", {{"p/b", 4}});
  others_fit_beside_four();
  report("a", {{"p/a", 4}});
  others_fit_beside_four();
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  report("a", {});
  EXPECT_EQ(filtered(pod_of("other", 4)), "b") << "it has not ended";
  pod_scheduler_.gone("p", now_);
  EXPECT_EQ(filtered(pod_of("other", 4)), "ab");
}

}  // namespace
}  // namespace pinion::cluster
