// Gangs of Kubernetes' own PodGroups: kube-scheduler asks about all members before it binds any.
#include <gmock/gmock.h>

#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Pods of the PodGroup default/g of scheduling.k8s.io.
class NativeGangs : public PodSchedulerTest {
 protected:
  void SetUp() override {
    PodSchedulerTest::SetUp();
    pod_scheduler_.serve_groups(PodGroupApi::kNative, true);
    pod_scheduler_.complete_gangs(now_);
  }
  static std::string key() { return group_key(PodGroupApi::kNative, "default", "g"); }
  static JobId gang() { return gang_of_group(key()); }
  static Pod grouped(const std::string& uid, int cpus) {
    Pod pod = pod_of(uid, cpus);
    pod.group = "g";
    pod.group_api = PodGroupApi::kNative;
    return pod;
  }
  // The group wants all of these to start together, and they exist.
  void there(const std::vector<std::string>& uids, int cpus) {
    pod_scheduler_.group(key(), static_cast<std::int64_t>(uids.size()), now_);
    for (const auto& uid : uids) pod_scheduler_.seen(grouped(uid, cpus), now_);
  }
  // The only node that passes.
  std::string offered(const std::string& uid, int cpus, const Names& names = {"a", "b"}) {
    const std::string nodes = filtered(grouped(uid, cpus), names);
    EXPECT_EQ(nodes.size(), 1U) << uid << ": " << answer_.why;
    return nodes;
  }
  void expect_goes(const std::string& uid, const std::string& node) {
    const BindAnswer answer = pod_scheduler_.bind(uid, node, ++call_ids_, now_);
    EXPECT_EQ(answer.kind, Kind::kGo) << uid << ": " << answer.text;
    pod_scheduler_.bound(uid, true, now_);
  }
  void tick(std::int64_t after_ms) {
    now_ += after_ms;
    pod_scheduler_.tick(now_);
  }
  std::size_t promises() { return pod_scheduler_.fleet().promises(); }
  int held() { return pod_scheduler_.held(gang()); }
  std::vector<std::string> woken() {
    std::vector<std::string> uids;
    for (const auto& pod : pod_scheduler_.take_effects().wake) uids.push_back(pod.uid);
    return uids;
  }
  CallId call_ids_ = 0;
};

TEST_F(NativeGangs, AreCalledLikeTheirJobElseLikeTheirGroup) {
  there({"p", "q"}, 3);
  EXPECT_EQ(pod_scheduler_.book().find(gang())->called(), "default/g");
  const std::string other = group_key(PodGroupApi::kNative, "default", "pinion-uid");
  Pod pod = grouped("r", 3);
  pod.group = "pinion-uid";
  pod.annotations["pinion.dev/job"] = "wind";
  // It is bound before its group is known.
  pod.node = "a";
  pod_scheduler_.seen(pod, now_);
  pod_scheduler_.group(other, 2, now_);
  EXPECT_EQ(pod_scheduler_.book().find(gang_of_group(other))->called(), "default/wind");
  pod.uid = "s";
  pod.node.clear();
  pod_scheduler_.seen(pod, now_);
  EXPECT_EQ(pod_scheduler_.book().find(gang_of_group(other))->called(), "default/wind");
}

TEST_F(NativeGangs, AreBoundOneByOneAndNoCallIsHeld) {
  there({"p", "q", "r"}, 3);
  std::map<std::string, std::string> nodes;
  for (const char* uid : {"p", "q", "r"}) nodes[uid] = offered(uid, 3);
  EXPECT_EQ(promises(), 3U);
  for (const auto& [uid, node] : nodes) {
    expect_goes(uid, node);
    EXPECT_EQ(held(), 0);
  }
  EXPECT_TRUE(pod_scheduler_.book().find(gang())->started);
  EXPECT_EQ(pod_scheduler_.gang_counters().planned, 1U);
  EXPECT_EQ(pod_scheduler_.gang_counters().whole, 1U);
}

// Two of three CPUs fit on each node, and no third.
TEST_F(NativeGangs, HaveOnePlanInOneCycle) {
  there({"p", "q", "r", "s"}, 3);
  std::map<std::string, int> taken;
  for (const char* uid : {"p", "q", "r", "s"}) ++taken[offered(uid, 3)];
  EXPECT_EQ(taken, (std::map<std::string, int>{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(pod_scheduler_.gang_counters().planned, 1U);
}

TEST_F(NativeGangs, ThatDoNotFitHoldNothing) {
  there({"p", "q", "r"}, 6);
  EXPECT_EQ(filtered(grouped("p", 6)), "");
  EXPECT_THAT(answer_.why, HasSubstr("needs 3 x 6 CPUs"));
  EXPECT_EQ(promises(), 0U);
  EXPECT_EQ(filtered(pod_of("other", 7)), "ab");
}

// The scheduler has refused a later member for a reason of its own, and tries again.
TEST_F(NativeGangs, GiveTheirPlacesBackWhenTheNextCycleBegins) {
  there({"p", "q"}, 3);
  offered("p", 3);
  offered("q", 3);
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 0U);
  const std::string node = offered("p", 3, {"b"});
  EXPECT_EQ(node, "b") << "planned anew among the nodes of the new cycle";
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 1U);
  offered("q", 3);
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 1U);
  EXPECT_EQ(promises(), 2U);
}

TEST_F(NativeGangs, GiveTheirPlacesBackWhenNobodyGoesOn) {
  there({"p", "q"}, 6);
  offered("p", 6);
  EXPECT_EQ(filtered(pod_of("other", 6)), "");
  tick(kCycle - 1);
  EXPECT_EQ(promises(), 2U);
  EXPECT_THAT(woken(), IsEmpty());
  tick(1);
  EXPECT_EQ(promises(), 0U);
  EXPECT_THAT(woken(), ElementsAre("other"));
  EXPECT_EQ(filtered(pod_of("other", 6)), "ab");
}

// The scheduler has reasons of its own to refuse one of them, and tries again every few seconds.
TEST_F(NativeGangs, LeaveRoomToOthersBetweenCyclesThatComeToNothing) {
  there({"p", "q"}, 6);
  offered("p", 6);
  tick(kCycle / 2);
  offered("p", 6);
  tick(kCycle / 10 - 1);
  EXPECT_EQ(promises(), 2U);
  tick(1);
  EXPECT_EQ(promises(), 0U);
  EXPECT_EQ(filtered(pod_of("other", 6)), "ab");
}

// From its last question, whatever the cycle takes.
TEST_F(NativeGangs, KeepTheirPlacesWhileTheyAreAskedAbout) {
  there({"p", "q", "r"}, 3);
  for (const char* uid : {"p", "q", "r"}) {
    offered(uid, 3);
    tick(kCycle - 1);
  }
  EXPECT_EQ(promises(), 3U);
}

// Once the first is bound the cycle was not given up, however long the others take: their volumes,
// for instance.
TEST_F(NativeGangs, KeepTheirPlacesOnceOneIsBound) {
  there({"p", "q"}, 3);
  const std::string p = offered("p", 3);
  const std::string q = offered("q", 3);
  expect_goes("p", p);
  tick(kCycle);
  EXPECT_EQ(promises(), 2U);
  expect_goes("q", q);
}

// It asks again about one whose binding it could not make.
TEST_F(NativeGangs, KeepTheirPlacesWhenOneIsAskedAboutAgainWhileOthersAreBound) {
  there({"p", "q", "r"}, 3);
  std::map<std::string, std::string> nodes;
  for (const char* uid : {"p", "q", "r"}) nodes[uid] = offered(uid, 3);
  expect_goes("p", nodes["p"]);
  EXPECT_EQ(pod_scheduler_.bind("q", nodes["q"], ++call_ids_, now_).kind, Kind::kGo);
  pod_scheduler_.bound("q", false, now_);
  EXPECT_EQ(offered("q", 3), nodes["q"]);
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 0U);
  expect_goes("q", nodes["q"]);
  expect_goes("r", nodes["r"]);
}

// The places have ended meanwhile; the scheduler has decided, and there is room.
TEST_F(NativeGangs, AreBoundLateWhereThereIsStillRoom) {
  there({"p", "q"}, 6);
  const std::string p = offered("p", 6);
  const std::string q = offered("q", 6);
  tick(kCycle);
  EXPECT_EQ(promises(), 0U);
  expect_goes("p", p);
  ASSERT_EQ(filtered(pod_of("other", 6)), q);
  ASSERT_EQ(bind(pod_of("other", 6), q, ++call_ids_).kind, Kind::kGo);
  const BindAnswer late = pod_scheduler_.bind("q", q, ++call_ids_, now_);
  EXPECT_EQ(late.kind, Kind::kRefuse);
  EXPECT_THAT(late.text, HasSubstr("taken meanwhile"));
  EXPECT_TRUE(pod_scheduler_.waiting().contains("q"));
}

// Where topology placements are tried in turn, the one that is bound need not be the last.
TEST_F(NativeGangs, AreBoundWhereTheSchedulerSaysIfThereIsRoom) {
  there({"p", "q"}, 3);
  offered("p", 3, {"a"});
  offered("q", 3, {"a"});
  offered("p", 3, {"b"});
  offered("q", 3, {"b"});
  expect_goes("p", "a");
  expect_goes("q", "a");
  EXPECT_EQ(promises(), 2U);
  EXPECT_EQ(pod_scheduler_.book().member("p")->node, "a");
  EXPECT_EQ(pod_scheduler_.book().member("q")->node, "a");
  EXPECT_TRUE(pod_scheduler_.book().find(gang())->started);
}

TEST_F(NativeGangs, AreBookedWhereTheyAreBoundAndNotWhereTheyAreNominated) {
  there({"p", "q"}, 3);
  Pod p = grouped("p", 3);
  p.nominated = "b";
  ASSERT_EQ(filtered(p), "b");
  offered("q", 3, {"a"});
  expect_goes("p", "a");
  EXPECT_EQ(pod_scheduler_.book().member("p")->node, "a");
}

// One of 6 CPUs has room on b and the other would have it if somebody were evicted, which the
// scheduler does not do for such a gang: b is not kept from others meanwhile.
TEST_F(NativeGangs, AreNominatedForNoEviction) {
  report("a", {{"low/main", 6}});
  Pod low = pod_of("low", 6);
  low.node = "a";
  pod_scheduler_.seen(low, now_);
  pod_scheduler_.group(key(), 2, now_);
  for (const char* uid : {"p", "q"}) {
    Pod pod = grouped(uid, 6);
    pod.priority = 5;
    pod_scheduler_.seen(pod, now_);
    EXPECT_EQ(filtered(pod), "");
  }
  EXPECT_TRUE(pod_scheduler_.take_effects().nominations.empty());
}

TEST_F(NativeGangs, AreNotBoundWhereThereIsNoRoom) {
  there({"p", "q"}, 6);
  const std::string p = offered("p", 6);
  const std::string q = offered("q", 6);
  ASSERT_NE(p, q);
  const BindAnswer answer = pod_scheduler_.bind("p", q, ++call_ids_, now_);
  EXPECT_EQ(answer.kind, Kind::kRefuse);
  EXPECT_THAT(answer.text, HasSubstr("taken meanwhile"));
  EXPECT_EQ(pod_scheduler_.bind("p", "unknown", ++call_ids_, now_).kind, Kind::kRefuse);
}

// With more than 100 nodes the scheduler looks at some of them. All that come after the member
// that was not offered its node are nominated with it, or each would cost a cycle.
TEST_F(NativeGangs, AreNominatedTogetherWhereTheirNodesAreNotOffered) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("unknown-" + std::to_string(i));
  const auto sample = [&](const char* node) {
    Names nodes(names.begin(), names.end());
    nodes.back() = node;
    return nodes;
  };
  there({"p", "q", "r"}, 2);
  offered("p", 2, sample("a"));
  EXPECT_EQ(filtered(grouped("q", 2), sample("b")), "") << "planned on node a";
  std::map<std::string, std::string> nominated;
  for (const auto& nomination : pod_scheduler_.take_effects().nominations) {
    nominated[nomination.pod.uid] = nomination.node;
  }
  EXPECT_EQ(nominated, (std::map<std::string, std::string>{{"q", "a"}, {"r", "a"}}));
  // The next cycle: who is nominated is looked at there, and keeps it.
  const auto nominee = [&](const char* uid) {
    Pod pod = grouped(uid, 2);
    pod.nominated = "a";
    return pod;
  };
  for (const char* uid : {"q", "r"}) pod_scheduler_.seen(nominee(uid), now_);
  offered("p", 2, sample("b"));
  for (const char* uid : {"q", "r"}) {
    EXPECT_EQ(filtered(nominee(uid), {"a"}), "a") << uid << ": " << answer_.why;
  }
}

TEST_F(NativeGangs, OfBasicGroupsAreNone) {
  pod_scheduler_.group(key(), std::nullopt, now_);
  EXPECT_EQ(filtered(grouped("p", 3)), "ab");
  EXPECT_THAT(pod_scheduler_.gangs(), IsEmpty());
  expect_goes("p", "a");
}

TEST_F(NativeGangs, WaitForTheirPodGroup) {
  EXPECT_EQ(filtered(grouped("p", 3)), "");
  EXPECT_EQ(answer_.why, "waits for its PodGroup g, which does not exist");
  pod_scheduler_.group(key(), 1, now_);
  EXPECT_THAT(woken(), ElementsAre("p"));
  expect_goes("p", offered("p", 3));
}

TEST_F(NativeGangs, MeanNothingWhereNobodyServesThem) {
  pod_scheduler_.serve_groups(PodGroupApi::kNative, false);
  EXPECT_EQ(filtered(grouped("p", 3)), "ab");
  EXPECT_THAT(pod_scheduler_.gangs(), IsEmpty());
}

TEST_F(NativeGangs, AreOfTheirOwnPodGroupAndNotOfOneOfTheOtherApi) {
  pod_scheduler_.serve_groups(PodGroupApi::kSigs, true);
  pod_scheduler_.group(group_key(PodGroupApi::kSigs, "default", "g"), 5, now_);
  there({"p", "q"}, 3);
  const std::string p = offered("p", 3);
  const std::string q = offered("q", 3);
  Pod other = pod_of("o", 1);
  other.group = "g";
  EXPECT_EQ(filtered(other), "");
  EXPECT_EQ(answer_.why, "1 of 5 pods of its gang exist");
  expect_goes("p", p);
  expect_goes("q", q);
}

// The scheduler keeps to the group, whatever the annotations of a cut job say.
TEST_F(NativeGangs, HaveTheSizeOfTheirPodGroup) {
  struct Case {
    const char* name;
    std::optional<std::int64_t> members;  // of the group
    Demand::Kind kind;
    int size;
    bool native;
  };
  for (const Case& one : {Case{"a gang", 3, Demand::Kind::kMember, 3, true},
                          Case{"basic", std::nullopt, Demand::Kind::kMember, 8, false}}) {
    Pod pod = member_of("j", 0, 8, 1);
    pod.group = "g";
    pod.group_api = PodGroupApi::kNative;
    PodGroups groups;
    groups.serve(PodGroupApi::kNative, true);
    groups.set(key(), one.members);
    const Demand demand = demand_of(pod, {}, groups);
    EXPECT_EQ(demand.kind, one.kind) << one.name;
    EXPECT_EQ(demand.size, one.size) << one.name;
    EXPECT_EQ(demand.native, one.native) << one.name;
  }
}

// The scheduler asks about those above minCount in the same cycle.
TEST_F(NativeGangs, ThoseAboveItsSizeStartByThemselvesWhenItHasStarted) {
  there({"p", "q"}, 3);
  const std::string p = offered("p", 3);
  const std::string q = offered("q", 3);
  EXPECT_EQ(filtered(grouped("z", 4)), "");
  EXPECT_EQ(text_for(0), "its job has all of the 2 that start together");
  expect_goes("p", p);
  expect_goes("q", q);
  tick(1000);
  EXPECT_THAT(woken(), ElementsAre("z"));
  expect_goes("z", offered("z", 4));
}

TEST_F(NativeGangs, NeedNoGateAndLoseOneThatTheyHave) {
  pod_scheduler_.group(key(), 2, now_);
  for (const char* uid : {"p", "q"}) {
    Pod pod = grouped(uid, 3);
    pod.gang_gate = true;
    pod_scheduler_.seen(pod, now_);
  }
  EXPECT_EQ(pod_scheduler_.take_effects().openings.size(), 2U);
  for (const char* uid : {"p", "q"}) pod_scheduler_.seen(grouped(uid, 3), now_);
  const std::string p = offered("p", 3);
  const std::string q = offered("q", 3);
  EXPECT_EQ(pod_scheduler_.gang_counters().planned, 1U) << "the plan that took them off holds";
  expect_goes("p", p);
  expect_goes("q", q);
}

// Bound before the extender knew their group.
TEST_F(NativeGangs, WhoWasBoundBeforeTheGroupWasKnownCounts) {
  Pod bound = grouped("p", 3);
  bound.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(bound, now_));
  pod_scheduler_.group(key(), 2, now_);
  pod_scheduler_.seen(grouped("q", 3), now_);
  EXPECT_EQ(pod_scheduler_.book().find(gang())->members.size(), 2U);
  expect_goes("q", offered("q", 3));
}

}  // namespace
}  // namespace pinion::cluster
