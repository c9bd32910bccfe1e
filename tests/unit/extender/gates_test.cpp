// Gangs whose pods wait at Pinion's scheduling gate: planned before the scheduler asks about any.
#include "cluster/extender/scheduling/gates.h"

#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class GatesTest : public PodSchedulerTest {
 protected:
  void SetUp() override {
    PodSchedulerTest::SetUp();
    pod_scheduler_.complete_gangs(now_);
  }

  static Pod gated(Pod pod) {
    pod.gang_gate = true;
    return pod;
  }
  static Pod gated_member(const std::string& job, int number, int size, int cpus) {
    return gated(member_of(job, number, size, cpus));
  }
  // The API server tells of these of a gang of `size`.
  void exist_gated(const std::string& job, int size, int cpus, int first, int last) {
    for (int i = first; i <= last; ++i) {
      pod_scheduler_.seen(gated_member(job, i, size, cpus), now_);
    }
  }
  void tick(std::int64_t after_ms) {
    now_ += after_ms;
    pod_scheduler_.tick(now_);
  }
  // "j0@a j1@b", and the same for the others' effects as they are asked for.
  std::string opened() {
    effects_ = pod_scheduler_.take_effects();
    std::string text;
    for (const Opening& opening : effects_.openings) {
      text += (text.empty() ? "" : " ") + opening.pod.uid + "@" + opening.node;
      if (opening.nominated) text += " (nominated)";
    }
    return text;
  }
  // As kube-scheduler does with a pod whose gate is off: the nominated node first.
  Kind asked_and_bound(const std::string& uid, int size, int cpus, const std::string& node,
                       CallId call_id) {
    Pod pod = member_of(uid.substr(0, 1), std::stoi(uid.substr(1)), size, cpus);
    pod.nominated = node;
    pod_scheduler_.seen(pod, now_);
    EXPECT_EQ(filtered(pod, {node}), node) << answer_.why;
    return bind(pod, node, call_id).kind;
  }
  std::string why(const std::string& job) {
    for (const Job* gang : pod_scheduler_.gangs()) {
      if (gang->spec.owner.name == job) return pod_scheduler_.why_gated(*gang);
    }
    return "no such gang";
  }

  // Each is in a zone of its own name.
  void label_nodes() {
    for (const char* name : {"a", "b"}) {
      pod_scheduler_.node({.name = name, .taints = {}, .labels = {{"zone", name}}}, now_);
    }
  }

  Effects effects_;
};

// A restarted extender is told of all pods at once, in any order.
TEST_F(GatesTest, AGangIsAsOldAsItsOldestPodWhoeverHasSeenIt) {
  const std::int64_t epoch = 1'000'000;  // the time of day at 0
  PodScheduler next{policy::Defaults(), {.epoch_ms = epoch}};
  now_ = 50'000;
  for (const char* name : {"a", "b"}) ASSERT_TRUE(next.report(report_of(name, machine_), now_));
  const auto exist_since = [&](const std::string& job, std::int64_t first, std::int64_t second) {
    for (const auto& [number, since] : {std::pair(0, first), std::pair(1, second)}) {
      Pod pod = gated_member(job, number, 2, 7);
      pod.created_ms = epoch + since;
      next.seen(pod, now_);
    }
  };
  exist_since("ahead", 90'000, 90'000);  // by a clock that is fast
  exist_since("young", 4000, 4000);
  exist_since("old", 9000, -5000);
  for (const Job* gang : next.gangs()) {
    const std::string& name = gang->spec.owner.name;
    EXPECT_EQ(gang->submitted_ms, name == "old" ? -5000 : name == "young" ? 4000 : now_) << name;
  }
  next.complete_gangs(now_);
  next.tick(now_);
  const Effects effects = next.take_effects();
  ASSERT_EQ(effects.openings.size(), 2U);
  EXPECT_EQ(effects.openings[0].pod.uid, "old0");
}

TEST_F(GatesTest, AnOldPodMakesNoNewGangOld) {
  PodScheduler next{policy::Defaults(), {.epoch_ms = 1'000'000}};
  const auto tell = [&](const std::string& gang, const std::string& uid, int age_ms) {
    Pod pod = gated_member(gang, 0, 2, 7);
    pod.uid = uid;
    pod.created_ms = 1'000'000 + now_ - age_ms;
    next.seen(pod, now_);
  };
  const auto submitted = [&](const std::string& name) {
    std::int64_t at = -1;
    for (const Job* gang : next.gangs()) {
      if (gang->spec.owner.name == name) at = gang->submitted_ms;
    }
    return at;
  };
  now_ = 50'000;
  tell("old", "parked", 20'000);
  EXPECT_EQ(submitted("old"), 30'000);
  next.complete_gangs(now_);
  now_ = 60'000;
  tell("new", "fresh", 0);
  tell("new", "parked", 30'000);
  EXPECT_EQ(submitted("new"), 60'000) << "it came from another gang";
  tell("late", "other", 40'000);
  EXPECT_EQ(submitted("late"), 60'000) << "it wanted no cores before";
}

// The nomination has come to pass, and nobody knows what became of the gate.
TEST_F(GatesTest, WhatIsNominatedIsOpenedAgainWithoutIt) {
  exist_gated("j", 2, 7, 0, 1);
  EXPECT_EQ(opened(), "j0@a j1@b");
  Pod pod = gated_member("j", 0, 2, 7);
  pod.nominated = "a";
  pod_scheduler_.seen(pod, now_);
  tick(1000);
  EXPECT_EQ(opened(), "j0@a (nominated) j1@b");
}

TEST_F(GatesTest, ALoneMemberHoldsNothingAndStaysAtItsGate) {
  exist_gated("j", 2, 3, 0, 0);
  tick(1000);
  EXPECT_EQ(opened(), "");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(pod_scheduler_.gated(), 1U);
  EXPECT_EQ(why("j"), "1 of 2 pods of its gang exist");
  EXPECT_TRUE(effects_.explanations.empty()) << "the others may be on their way";
  tick(5000);
  opened();
  ASSERT_EQ(effects_.explanations.size(), 1U);
  EXPECT_EQ(effects_.explanations[0].pod.uid, "j0");
  EXPECT_EQ(effects_.explanations[0].why, "1 of 2 pods of its gang exist");
  tick(60'000);
  opened();
  EXPECT_TRUE(effects_.explanations.empty()) << "each reason is told once";
}

TEST_F(GatesTest, WhenAllAreThereItIsPlannedAtOnceAndOpenedWhereItGoes) {
  exist_gated("j", 3, 3, 0, 2);
  EXPECT_EQ(opened(), "j0@a j1@a j2@b");
  EXPECT_TRUE(effects_.nominations.empty());
  EXPECT_EQ(asked_and_bound("j0", 3, 3, "a", 1), Kind::kHold);
  EXPECT_EQ(asked_and_bound("j1", 3, 3, "a", 2), Kind::kHold);
  EXPECT_EQ(asked_and_bound("j2", 3, 3, "b", 3), Kind::kGo);
  EXPECT_EQ(pod_scheduler_.gang_counters().whole, 1U);
  EXPECT_EQ(pod_scheduler_.gated(), 0U);
  tick(5000);
  EXPECT_EQ(opened(), "") << "they were seen without their gates";
}

TEST_F(GatesTest, APatchThatIsLostIsMadeAgainMoreAndMoreSeldom) {
  exist_gated("j", 2, 3, 0, 1);
  EXPECT_EQ(opened(), "j0@a j1@a");
  tick(500);
  EXPECT_EQ(opened(), "");
  tick(500);
  EXPECT_EQ(opened(), "j0@a j1@a");
  tick(1000);
  EXPECT_EQ(opened(), "");
  pod_scheduler_.seen(member_of("j", 0, 2, 3), now_);
  tick(1000);
  EXPECT_EQ(opened(), "j1@a") << "the other's gate is off";
}

TEST_F(GatesTest, WithoutRoomNobodyIsOpenedUntilThereIsSome) {
  report("a", {{"x/main", 5}});
  report("b", {{"y/main", 5}});
  exist_gated("j", 2, 4, 0, 1);
  tick(1000);
  EXPECT_EQ(opened(), "");
  EXPECT_EQ(why("j").substr(0, 16), "needs 2 x 4 CPUs") << why("j");
  ASSERT_EQ(effects_.explanations.size(), 1U);
  EXPECT_EQ(effects_.explanations[0].why, why("j"));
  EXPECT_GT(pod_scheduler_.gang_counters().refused, 0U);
  report("a", {});
  tick(1000);
  EXPECT_EQ(opened(), "") << "there is room for one of two";
  report("b", {});
  tick(1000);
  EXPECT_EQ(opened(), "j0@a j1@b");
  EXPECT_EQ(why("j"), "");
}

TEST_F(GatesTest, WhatNeverFitsIsToldAsThatAlone) {
  exist_gated("j", 2, 9, 0, 1);
  tick(1000);
  EXPECT_EQ(opened(), "");
  ASSERT_EQ(effects_.hopeless.size(), 1U);
  EXPECT_EQ(effects_.hopeless[0].why, why("j"));
  EXPECT_TRUE(effects_.explanations.empty());
  tick(60'000);
  opened();
  EXPECT_TRUE(effects_.hopeless.empty() && effects_.explanations.empty());
}

TEST_F(GatesTest, WhoIsFirstInTheQueueIsPlannedFirst) {
  report("a", {{"x/main", 7}});
  report("b", {{"y/main", 7}});
  exist_gated("j", 2, 3, 0, 1);
  now_ += 10;
  for (int i = 0; i < 2; ++i) {
    Pod urgent = gated_member("k", i, 2, 3);
    urgent.priority = 10;
    pod_scheduler_.seen(urgent, now_);
  }
  EXPECT_EQ(opened(), "");
  report("b", {});
  tick(1000);
  EXPECT_EQ(opened(), "k0@b k1@b");
}

TEST_F(GatesTest, AnotherGateIsWaitedForAndStays) {
  exist_gated("j", 2, 3, 0, 0);
  Pod second = gated_member("j", 1, 2, 3);
  second.other_gates = true;
  pod_scheduler_.seen(second, now_);
  tick(1000);
  EXPECT_EQ(opened(), "");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  EXPECT_EQ(why("j"), "1 of 2 pods of its gang wait at other scheduling gates");
  second.other_gates = false;
  pod_scheduler_.seen(second, now_);
  EXPECT_EQ(opened(), "j0@a j1@a");
}

// As a queue does that takes its own gate off.
TEST_F(GatesTest, WhereItMayGoIsReadAgainWhenAnotherGateGoes) {
  label_nodes();
  for (const bool queued : {true, false}) {
    for (int i = 0; i < 2; ++i) {
      Pod pod = gated_member("j", i, 2, 3);
      pod.other_gates = queued;
      if (!queued) pod.nodes.selector["zone"] = "b";
      pod_scheduler_.seen(pod, now_);
    }
    EXPECT_EQ(opened(), queued ? "" : "j0@b j1@b");
  }
}

TEST_F(GatesTest, APlanGoesWhenAMemberMayNotUseItsNodeAnyMore) {
  label_nodes();
  exist_gated("j", 2, 3, 0, 1);
  EXPECT_EQ(opened(), "j0@a j1@a");
  Pod narrowed = gated_member("j", 0, 2, 3);
  narrowed.nodes.selector["zone"] = "b";
  pod_scheduler_.seen(narrowed, now_);
  tick(1000);
  EXPECT_EQ(opened().substr(0, 4), "j0@b");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 2U);
  pod_scheduler_.seen(narrowed, now_);
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 1U) << "nothing has changed since";
}

// The extender was killed when one gate of three was off: another one goes on with what is on the
// pods.
TEST_F(GatesTest, WhatIsOpenedInPartIsOpenedWholeWithTheNodesThatAreNominated) {
  PodScheduler next{policy::Defaults(), PodSchedulerLimits()};
  for (const char* name : {"a", "b"}) ASSERT_TRUE(next.report(report_of(name, machine_), 0));
  Pod open = member_of("j", 1, 3, 3);
  open.nominated = "b";
  next.seen(open, now_);
  Pod nominated = gated_member("j", 0, 3, 3);
  nominated.nominated = "b";
  next.seen(nominated, now_);
  next.seen(gated_member("j", 2, 3, 3), now_);
  next.tick(now_);
  EXPECT_TRUE(next.take_effects().openings.empty()) << "it does not lead yet";
  EXPECT_EQ(next.fleet().promises(), 0U);
  next.complete_gangs(now_);
  next.tick(now_);
  const Effects effects = next.take_effects();
  ASSERT_EQ(effects.openings.size(), 2U);
  EXPECT_EQ(effects.openings[0].pod.uid + effects.openings[0].node, "j0b");
  EXPECT_EQ(effects.openings[1].pod.uid + effects.openings[1].node, "j2a");
  EXPECT_EQ(next.filter(open, {"b"}, now_).verdict.front(), 0);
}

TEST_F(GatesTest, AQuestionAboutOneWhoseGateIsOffOpensTheOthers) {
  pod_scheduler_.seen(member_of("j", 0, 2, 3), now_);
  EXPECT_EQ(filtered(member_of("j", 0, 2, 3)), "") << "one is missing";
  pod_scheduler_.seen(gated_member("j", 1, 2, 3), now_);
  EXPECT_EQ(opened(), "j1@a");
  EXPECT_FALSE(effects_.wake.empty()) << "the first is asked about again";
  EXPECT_EQ(filtered(member_of("j", 0, 2, 3)), "a");
}

TEST_F(GatesTest, AGangThatLosesAMemberStaysAtTheGatesThatAreOn) {
  exist_gated("j", 2, 3, 0, 1);
  EXPECT_EQ(opened(), "j0@a j1@a");
  pod_scheduler_.seen(member_of("j", 0, 2, 3), now_);
  pod_scheduler_.gone("j0", now_);
  tick(5000);
  EXPECT_EQ(opened(), "");
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
  exist_gated("j", 2, 3, 2, 2);
  EXPECT_EQ(opened(), "j1@a j2@a");
}

// The scheduler looks at all nodes after the nominated one: it does not take that.
TEST_F(GatesTest, ANodeThatTheSchedulerDoesNotTakeIsPlannedAroundAsEver) {
  exist_gated("j", 2, 3, 0, 1);
  EXPECT_EQ(opened(), "j0@a j1@a");
  std::vector<std::string> others;
  for (int i = 0; i < 100; ++i) others.push_back("other-" + std::to_string(i));
  Names sample(others.begin(), others.end());
  sample.emplace_back("b");
  Pod first = member_of("j", 0, 2, 3);
  first.nominated = "a";
  pod_scheduler_.seen(first, now_);
  EXPECT_EQ(filtered(first, sample), "b");
  tick(0);
  EXPECT_EQ(opened(), "j1@b") << "who was not asked about yet goes with it";
}

TEST_F(GatesTest, MoreOfAGangThatHasStartedAreOpenedOneByOne) {
  exist(/*job=*/"j", 2, 3);
  EXPECT_EQ(asked_and_bound("j0", 2, 3, "a", 1), Kind::kHold);
  EXPECT_EQ(asked_and_bound("j1", 2, 3, "a", 2), Kind::kGo);
  exist_gated("j", 2, 3, 2, 3);
  EXPECT_EQ(opened(), "j2@b j3@b");
  exist_gated("j", 2, 3, 4, 4);
  EXPECT_EQ(opened(), "") << "there is no more room";
}

TEST_F(GatesTest, APodThatIsOfNoGangIsOpenedAtOnce) {
  struct Case {
    const char* name;
    Pod pod;
  };
  Case cases[] = {{"alone", pod_of("p0", 2)},
                  {"shared", pod_of("p1", 2)},
                  {"wrong", pod_of("p2", 2, {{"align", "moon"}})},
                  {"unnamed", pod_of("p3", 2, {{"gang-size", "2"}})}};
  cases[1].pod.qos = policy::Qos::kBurstable;
  for (const Case& one : cases) {
    pod_scheduler_.seen(gated(one.pod), now_);
    tick(0);
    EXPECT_EQ(opened(), one.pod.uid + "@") << one.name;
    pod_scheduler_.seen(one.pod, now_);
    tick(5000);
    EXPECT_EQ(opened(), "") << one.name;
  }
  EXPECT_EQ(pod_scheduler_.gated(), 0U);
}

// Its annotations change while it waits: the scheduler asks about it, and its user is told why.
TEST_F(GatesTest, AMemberThatAsksForNoCoresAnyMoreIsOpenedAndNoMember) {
  struct Case {
    const char* name;
    const char* annotation;
    const char* value;
    bool planned;  // with another one
  };
  const Case cases[] = {{"wrong", "pinion.dev/gang-size", "junk", false},
                        {"shared", "pinion.dev/cpus", "shared", false},
                        {"wrong, planned", "pinion.dev/gang-size", "junk", true},
                        {"shared, planned", "pinion.dev/cpus", "shared", true}};
  for (const Case& one : cases) {
    const std::size_t others = one.planned ? 1 : 0;
    exist_gated("j", 2, 3, 0, one.planned ? 1 : 0);
    EXPECT_EQ(opened(), one.planned ? "j0@a j1@a" : "") << one.name;
    Pod changed = gated_member("j", 0, 2, 3);
    changed.annotations[one.annotation] = one.value;
    pod_scheduler_.seen(changed, now_);
    tick(0);
    EXPECT_EQ(opened(), "j0@") << one.name;
    EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U) << one.name;
    EXPECT_EQ(pod_scheduler_.gangs().size(), others) << one.name;
    EXPECT_EQ(pod_scheduler_.pods(), others) << one.name;
    for (const char* uid : {"j0", "j1"}) pod_scheduler_.gone(uid, now_);
    EXPECT_EQ(pod_scheduler_.gated(), 0U) << one.name;
  }
}

// The watch is late: what it tells of was so before the scheduler asked.
TEST_F(GatesTest, AMemberThatIsBeingBoundStaysOneWhateverItsGateAndItsAnnotationsWere) {
  exist_gated("j", 2, 3, 0, 1);
  EXPECT_EQ(opened(), "j0@a j1@a");
  EXPECT_EQ(asked_and_bound("j0", 2, 3, "a", 1), Kind::kHold);
  EXPECT_EQ(asked_and_bound("j1", 2, 3, "a", 2), Kind::kGo);
  Pod before = gated_member("j", 0, 2, 3);
  before.annotations["pinion.dev/gang-size"] = "junk";
  pod_scheduler_.seen(before, now_);
  tick(0);
  EXPECT_EQ(opened(), "");
  ASSERT_EQ(pod_scheduler_.gangs().size(), 1U);
  EXPECT_EQ(pod_scheduler_.gangs()[0]->fixed(), 2);
}

// As kube-scheduler evicts for those alone that it asks about.
TEST_F(GatesTest, AGangThatCouldStartIfLessUrgentPodsWereGoneIsOpenedWithoutAPlan) {
  for (const auto& [uid, node] : {std::pair("x", "a"), std::pair("y", "b")}) {
    Pod running = pod_of(uid, 6);
    running.node = node;
    pod_scheduler_.seen(running, now_);
  }
  exist_gated("j", 2, 5, 0, 1);
  tick(0);
  EXPECT_EQ(opened(), "") << "they are as urgent as it is";
  for (int i = 0; i < 2; ++i) {
    Pod urgent = gated_member("k", i, 2, 5);
    urgent.priority = 10;
    pod_scheduler_.seen(urgent, now_);
  }
  EXPECT_EQ(opened(), "k0@ k1@");
  for (int i = 0; i < 3; ++i) {
    Pod large = gated_member("l", i, 3, 5);
    large.priority = 10;
    pod_scheduler_.seen(large, now_);
  }
  tick(0);
  EXPECT_EQ(opened(), "") << "three would find no room all the same";
}

TEST_F(GatesTest, NoMoreAreOpenedAtATimeThanMayBeHeld) {
  PodSchedulerLimits limits;
  limits.held = 2;
  PodScheduler scheduler{policy::Defaults(), limits};
  for (const char* name : {"a", "b"}) ASSERT_TRUE(scheduler.report(report_of(name, machine_), 0));
  for (const char* job : {"j", "k"}) {
    for (int i = 0; i < 2; ++i) scheduler.seen(gated_member(job, i, 2, 2), now_);
  }
  scheduler.complete_gangs(now_);
  scheduler.tick(now_);
  EXPECT_EQ(scheduler.take_effects().openings.size(), 2U);
  for (int i = 0; i < 2; ++i) scheduler.seen(member_of("j", i, 2, 2), now_);
  scheduler.tick(now_ + 250);
  const Effects effects = scheduler.take_effects();
  ASSERT_EQ(effects.openings.size(), 2U);
  EXPECT_EQ(effects.openings[0].pod.uid, "k0");
}

// Nobody asks about them, so what their pods say is heeded as they say it.
TEST_F(GatesTest, AGangIsAsItsPodsSayAfterAChangeOnceAllSayTheSame) {
  exist_gated("j", 3, 3, 0, 1);
  EXPECT_EQ(why("j"), "2 of 3 pods of its gang exist");
  exist_gated("j", 2, 3, 0, 0);
  tick(6000);
  EXPECT_EQ(why("j"), "the pods of its gang differ in pinion.dev/gang-size: 2 and 3");
  EXPECT_EQ(opened(), "");
  ASSERT_EQ(effects_.explanations.size(), 1U);
  EXPECT_EQ(effects_.explanations[0].why, why("j"));
  exist_gated("j", 2, 3, 1, 1);
  EXPECT_EQ(opened(), "j0@a j1@a");
}

}  // namespace
}  // namespace pinion::cluster
