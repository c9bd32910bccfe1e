// Pods whose agent was told where they are to be, by this extender or another one.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class PlannedPlaces : public PodSchedulerTest {
 protected:
  std::string held(const std::string& id, const std::string& node = "a") {
    const Fleet& fleet = pod_scheduler_.fleet();
    const topology::Claim* claim = fleet.node(fleet.find(node)).ledger.find(id);
    return claim == nullptr ? "nothing" : claim->cpus.to_string();
  }
  void tell(const std::string& node, const topology::CpuSet& reserved,
            const std::vector<topology::Claim>& claims, topology::Bytes shared_memory = 0) {
    NodeReport report = report_of(node, machine_, reserved);
    report.generation = ++generation_;
    report.claims = claims;
    report.shared_memory = shared_memory;
    ASSERT_TRUE(pod_scheduler_.report(std::move(report), now_));
  }
  static Pod planned_at(Pod pod, const std::string& planned, const std::string& node = "a") {
    pod.node = node;
    pod.annotations["pinion.dev/planned"] = planned;
    return pod;
  }
};

TEST_F(PlannedPlaces, WhatAnotherExtenderHasToldIsHeeded) {
  const Pod waits = pod_of("p", 2);
  pod_scheduler_.seen(waits, now_);  // as a follower hears of it
  EXPECT_TRUE(pod_scheduler_.seen(planned_at(waits, "main=5-6"), now_));
  EXPECT_EQ(held("p/main"), "5-6");
}

TEST_F(PlannedPlaces, ABindingInDoubtGivesWayToTheOneThatLanded) {
  for (const std::string node : {"a", "b"}) {
    SCOPED_TRACE(node);
    const Pod pod = pod_of("p" + node, 3);
    filtered(pod);
    ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
    EXPECT_EQ(held(pod.uid + "/main"), "1-3");
    pod_scheduler_.bound(pod.uid, true, now_);
    EXPECT_TRUE(pod_scheduler_.seen(planned_at(pod, "main=4-6", node), now_));
    EXPECT_EQ(held(pod.uid + "/main", node), "4-6");
    pod_scheduler_.gone(pod.uid, now_);
    EXPECT_EQ(held(pod.uid + "/main", node), "nothing");
  }
}

TEST_F(PlannedPlaces, WhoIsReservedThereGivesWayToAPlanThatCanBeKept) {
  exist("gang", 2, 6);
  ASSERT_EQ(filtered(member_of("gang", 0, 2, 6)), "a");
  const auto reserved = [&] { return pod_scheduler_.fleet().promised("gang1/main"); };
  EXPECT_TRUE(pod_scheduler_.seen(planned_at(pod_of("p", 1), "main=0"), now_));
  EXPECT_TRUE(reserved()) << "reserved CPUs are nobody's";
  EXPECT_EQ(held("p/main"), "7");
  EXPECT_TRUE(pod_scheduler_.seen(planned_at(pod_of("q", 1), "main=3"), now_));
  EXPECT_FALSE(reserved());
  EXPECT_EQ(held("q/main"), "3");
}

TEST_F(PlannedPlaces, NothingElseIsToldWhereALateReportHasLeftNoRoom) {
  const Pod pod = pod_of("p", 3);
  filtered(pod);
  ASSERT_EQ(bind(pod, "a", 1).kind, Kind::kGo);
  report("a", {{"late/main", 7}});
  EXPECT_EQ(held("p/main"), "nothing");
  EXPECT_EQ(pod_scheduler_.told_with_binding("p")["pinion.dev/planned"], "main=1-3");
  pod_scheduler_.bound("p", false, now_);
  EXPECT_FALSE(pod_scheduler_.fleet().promised("p/main")) << "it is planned anew";
}

TEST_F(PlannedPlaces, AMemberWhoseBindingFailedIsPlannedAnewByALateReport) {
  exist("gang", 2, 2);
  for (int i = 0; i < 2; ++i) {
    filtered(member_of("gang", i, 2, 2));
    bind(member_of("gang", i, 2, 2), "a", 1 + static_cast<CallId>(i));
  }
  const auto told = [&] { return pod_scheduler_.told_with_binding("gang0")["pinion.dev/planned"]; };
  EXPECT_EQ(told(), "main=1-2");
  pod_scheduler_.bound("gang1", true, now_);
  pod_scheduler_.bound("gang0", false, now_);
  report("a", {{"late/main", 2}});
  EXPECT_EQ(held("gang0/main"), "5-6");
  filtered(member_of("gang", 0, 2, 2));
  ASSERT_EQ(bind(member_of("gang", 0, 2, 2), "a", 3).kind, Kind::kGo);
  EXPECT_EQ(told(), "main=5-6") << "not where another one runs by now";
}

TEST_F(PlannedPlaces, AContainerWithoutAPlanAndWithoutRoomTakesNobodyElsesPlace) {
  report("a", {{"x/main", 3}});
  Pod pod = pod_of("p", 3);
  pod.containers.push_back({.name = "side", .milli_cpus = 2000, .memory = kGiB});
  EXPECT_FALSE(pod_scheduler_.seen(planned_at(pod, "main=4-6"), now_));
  EXPECT_EQ(held("p/main"), "4-6");
  EXPECT_EQ(filtered(pod_of("large", 5)), "b");
}

TEST_F(PlannedPlaces, ItsMemoryComesBackWithItsPlace) {
  tell("a", {0}, {}, 10 * kGiB);
  Pod pod = pod_of("p", 3, {{"strength", "required"}});
  pod.containers[0].memory = 60 * kGiB;
  Pod other = pod_of("other", 3, {{"strength", "required"}});
  other.containers[0].memory = 40 * kGiB;
  EXPECT_TRUE(pod_scheduler_.seen(planned_at(pod, "main=1-3"), now_))
      << "shared ones came after it";
  EXPECT_EQ(filtered(other), "b");

  tell("b", {0}, {}, 0);
  other.node = "b";
  EXPECT_TRUE(pod_scheduler_.seen(other, now_));
  pod.uid = "q";
  EXPECT_FALSE(pod_scheduler_.seen(planned_at(pod, "main=4-6", "b"), now_));
  pod_scheduler_.gone(other.uid, now_);
  other.uid = "third";
  other.node.clear();
  EXPECT_EQ(filtered(other), "") << "it has its memory at once";
}

TEST_F(PlannedPlaces, RoomIsNotHeldOnWhatAnAgentKeepsBackByThen) {
  report("b", {{"y/main", 7}});
  Pod runs = pod_of("x", 3);
  runs.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(runs, now_));
  report("a", {{"x/main", 3}});
  const Pod big = pod_of("big", 7);
  pod_scheduler_.seen(big, now_);
  EXPECT_EQ(filtered(big), "");
  ASSERT_EQ(filtered(pod_of("small", 2)), "") << "what is free is held for the big one";
  tell("a", {0, 4, 5}, {claim_of("x/main", "1-3")});
  EXPECT_EQ(held("x/main"), "1-3");
}

}  // namespace
}  // namespace pinion::cluster
