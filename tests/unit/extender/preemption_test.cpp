// Whom the scheduler may evict for a pod.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class PreemptionTest : public PodSchedulerTest {
 protected:
  // A pod of priority 0 runs there.
  void add_low(const std::string& node, int cpus) {
    Pod pod = pod_of("low-" + node, cpus);
    pod.node = node;
    EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
    report(node, {{pod.uid + "/main", cpus}});
  }
  std::size_t kept(const Pod& pod, const std::vector<Eviction>& proposals) {
    return pod_scheduler_.preempt(pod, proposals, now_).size();
  }
  std::vector<PodRef> woken() { return pod_scheduler_.take_effects().wake; }
  static Pod urgent(Pod pod, const std::string& nominated = {}) {
    pod.priority = 5;
    pod.nominated = nominated;
    return pod;
  }
};

TEST_F(PreemptionTest, NobodyIsEvictedWhileThoseThatWereGo) {
  Pod first = pod_of("first", 4);
  first.node = "a";
  EXPECT_TRUE(pod_scheduler_.seen(first, now_));
  report("a", {{"first/main", 4}});
  report("b", {{"second/main", 4}});
  const std::vector<Eviction> second{{.node = "b", .victims = {"second"}}};
  Pod urgent = pod_of("p", 5);
  EXPECT_EQ(pod_scheduler_.preempt(urgent, second, now_).size(), 1U);
  urgent.nominated = "a";
  pod_scheduler_.gone("first", now_);
  EXPECT_EQ(filtered(urgent), "");
  EXPECT_TRUE(pod_scheduler_.preempt(urgent, second, now_).empty())
      << "its agent has not said so yet";
  EXPECT_TRUE(pod_scheduler_.take_effects().wake.empty());
  report("a", {{"other/main", 4}});
  EXPECT_EQ(pod_scheduler_.take_effects().wake.size(), 1U);
  EXPECT_EQ(pod_scheduler_.preempt(urgent, second, now_).size(), 1U) << "somebody else was faster";
}

// The scheduler hears of a deletion before the extender does, and asks again.
TEST_F(PreemptionTest, NobodyIsEvictedBeforeTheEndOfTheFirstVictimsIsHeardOf) {
  const std::vector<Eviction> one_of_two{{.node = "a", .victims = {"first"}},
                                         {.node = "b", .victims = {"second"}}};
  const std::vector<Eviction> second{one_of_two[1]};
  for (const bool nominated : {true, false}) {
    SCOPED_TRACE(nominated);
    report("a", {{"first/main", 4}});
    report("b", {{"second/main", 4}});
    Pod urgent = pod_of(nominated ? "p" : "q", 5);
    ASSERT_EQ(pod_scheduler_.preempt(urgent, one_of_two, now_).size(), 2U);
    if (nominated) urgent.nominated = "a";
    EXPECT_TRUE(pod_scheduler_.seen(urgent, now_));
    EXPECT_TRUE(pod_scheduler_.preempt(urgent, second, now_).empty());
    report("a", {});
    EXPECT_EQ(pod_scheduler_.take_effects().wake.size(), 1U);
    EXPECT_TRUE(pod_scheduler_.preempt(urgent, second, now_).empty()) << "it has its room now";
    pod_scheduler_.gone(urgent.uid, now_);
  }
}

TEST_F(PreemptionTest, AVictimThatIsNotDeletedSparesOthersForSomeSecondsOnly) {
  report("a", {{"first/main", 4}});
  report("b", {{"second/main", 4}});
  Pod urgent = pod_of("p", 5);
  ASSERT_EQ(pod_scheduler_.preempt(urgent, {{.node = "a", .victims = {"first"}}}, now_).size(), 1U);
  urgent.nominated = "a";
  const std::vector<Eviction> second{{.node = "b", .victims = {"second"}}};
  int asked = 0;
  while (pod_scheduler_.preempt(urgent, second, now_).empty()) {
    ASSERT_LT(++asked, 10);
    now_ += 1000;
    pod_scheduler_.tick(now_);
    ASSERT_EQ(pod_scheduler_.take_effects().wake.size(), 1U) << "it is to ask again";
  }
  EXPECT_GE(asked, 2);
}

TEST_F(PreemptionTest, NobodyIsEvictedForAGangThatWouldLackRoomAllTheSame) {
  std::vector<Eviction> one_on_each;
  for (const char* node : {"a", "b"}) {
    for (const auto& [name, priority] : {std::pair("low-", 0), std::pair("equal-", 5)}) {
      Pod pod = pod_of(name + std::string(node), 3);
      pod.node = node;
      pod.priority = priority;
      EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
    }
    one_on_each.push_back({.node = node, .victims = {std::string("low-") + node}});
  }
  const auto kept = [&](int size, int priority) {
    Pod pod;
    for (int i = 0; i < size; ++i) {
      const std::string job = "j" + std::to_string(size) + "-" + std::to_string(priority) + "-";
      pod = member_of(job, i, size, 4);
      pod.priority = priority;
      pod_scheduler_.seen(pod, now_);
    }
    return pod_scheduler_.preempt(pod, one_on_each, now_)
        .size();  // before any other question about it
  };
  EXPECT_EQ(kept(2, 5), 2U) << "one on each node";
  EXPECT_EQ(kept(3, 5), 0U);
  EXPECT_EQ(kept(3, 4), 0U);
}

TEST_F(PreemptionTest, EvictionHelpsOnlyWhereItFreesEnough) {
  for (const char* node : {"a", "b"}) {
    report(node, {{std::string("small-") + node + "/main", 2},
                  {std::string("large-") + node + "/main", 4}});
  }
  const std::vector<Eviction> proposals{{.node = "a", .victims = {"small-a"}},
                                        {.node = "b", .victims = {"large-b"}}};
  const auto kept = pod_scheduler_.preempt(pod_of("p", 4), proposals, now_);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].node, "b");
  Pod other = pod_of("q", 4);
  other.qos = policy::Qos::kBurstable;
  EXPECT_EQ(pod_scheduler_.preempt(other, proposals, now_).size(), 2U);
}

// The larger one needs node b emptied, the other fits what is free on a.
TEST_F(PreemptionTest, AMemberThatFitsWhereALargerOneDoesNotCounts) {
  report("a", {{"equal/main", 4}});
  add_low("b", 7);
  const Pod large = urgent(member_of("j", 0, 2, 7));
  for (const Pod& pod : {large, urgent(member_of("j", 1, 2, 3))}) {
    EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  }
  EXPECT_EQ(kept(large, {{.node = "b", .victims = {"low-b"}}}), 1U);
}

// A gang of two: one fits what is free, the other needs node b emptied.
class HalfRoomTest : public PreemptionTest {
 protected:
  void SetUp() override {
    PreemptionTest::SetUp();
    add_low("b", 4);
    for (const Pod& pod : {first_, second_}) EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  }

  const Pod first_ = urgent(member_of("j", 0, 2, 5));
  const Pod second_ = urgent(member_of("j", 1, 2, 5));
  const std::vector<Eviction> low_{{.node = "b", .victims = {"low-b"}}};
};

TEST_F(HalfRoomTest, AMemberThatFitsIsNominatedSoThatTheSchedulerEvictsForTheOther) {
  EXPECT_EQ(filtered(first_), "");
  const Effects effects = pod_scheduler_.take_effects();
  ASSERT_EQ(effects.nominations.size(), 1U);
  EXPECT_EQ(effects.nominations[0].node, "a");
  EXPECT_EQ(kept(first_, low_), 0U) << "it has its place, whether the scheduler knows it or not";
  EXPECT_EQ(kept(urgent(first_, "a"), low_), 0U);
  EXPECT_EQ(filtered(second_), "");
  EXPECT_TRUE(pod_scheduler_.take_effects().nominations.empty())
      << "what is free is the first one's";
  now_ += 1000;
  pod_scheduler_.tick(now_);
  EXPECT_EQ(woken(), std::vector<PodRef>{ref_of(second_)}) << "it asks again when that is known";
  EXPECT_EQ(kept(second_, low_), 1U);
}

TEST_F(HalfRoomTest, MembersGetTheNodesToWhichTheyAreNominated) {
  filtered(first_);
  ASSERT_EQ(kept(second_, low_), 1U);
  EXPECT_TRUE(pod_scheduler_.seen(urgent(first_, "a"), now_));
  EXPECT_TRUE(pod_scheduler_.seen(urgent(second_, "b"), now_));
  pod_scheduler_.gone("low-b", now_);
  EXPECT_EQ(kept(urgent(second_, "b"), {}), 0U);
  report("b", {});
  EXPECT_EQ(woken().size(), 1U);
  // Each is asked about where it is nominated, and nowhere else.
  EXPECT_EQ(filtered(urgent(second_, "b"), {"b"}), "b");
  EXPECT_EQ(filtered(urgent(first_, "a"), {"a"}), "a");
}

TEST_F(HalfRoomTest, WhoIsNominatedWhereThereIsNoRoomAnyMoreIsPlannedElsewhere) {
  EXPECT_TRUE(pod_scheduler_.seen(urgent(first_, "b"), now_));
  pod_scheduler_.gone("low-b", now_);
  report("a", {});
  report("b", {{"other/main", 4}});
  EXPECT_EQ(filtered(urgent(first_, "b")), "") << "there is room for one only";
  report("b", {{"other/main", 2}});
  EXPECT_NE(filtered(urgent(first_, "b")), "");
  EXPECT_NE(filtered(second_), "");
}

TEST_F(HalfRoomTest, NobodyIsNominatedWhereEvictionsWouldNotHelp) {
  for (int i = 0; i < 3; ++i) {
    if (i < 2) pod_scheduler_.seen(member_of("equal", i, 2, 5), now_);
    pod_scheduler_.seen(urgent(member_of("large", i, 3, 5)), now_);
  }
  const auto nominations = [&](const Pod& pod) {
    filtered(pod);
    return pod_scheduler_.take_effects().nominations.size();
  };
  EXPECT_EQ(nominations(member_of("equal", 0, 2, 5)), 0U) << "nobody has a lower priority";
  EXPECT_EQ(nominations(urgent(member_of("large", 0, 3, 5))), 0U) << "two fit, whoever goes";
  EXPECT_EQ(nominations(first_), 1U);
  EXPECT_EQ(nominations(first_), 0U) << "not at every question";
}

// A gang of two, of 5 CPUs each: node b would have to be emptied, and node a is idle.
class IdleNodeTest : public PreemptionTest {
 protected:
  void node_a(const ResourceList& allocatable, const std::string& taint = {}) {
    NodeView view{.name = "a", .allocatable = allocatable};
    if (!taint.empty()) view.taints = {{.key = taint, .value = {}, .effect = "NoSchedule"}};
    pod_scheduler_.node(view, now_);
  }
  std::size_t evicted(const std::string& job, const NodeDemand& nodes = {}) {
    add_low("b", 4);
    Pod pod;
    for (int i = 0; i < 2; ++i) {
      pod = urgent(member_of(job, i, 2, 5));
      pod.nodes = nodes;
      pod.requests = {.milli_cpus = 5000, .memory = 1, .members = 1};
      pod_scheduler_.seen(pod, now_);
    }
    return kept(pod, {{.node = "b", .victims = {"low-b"}}});
  }
};

TEST_F(IdleNodeTest, NobodyIsEvictedForAGangThatMayNotUseTheIdleNode) {
  node_a(kPlenty);
  NodeDemand elsewhere;
  elsewhere.selector = {{"rack", "1"}};
  EXPECT_EQ(evicted("free"), 1U);
  EXPECT_EQ(evicted("selects", elsewhere), 0U);
  node_a(kPlenty, "node.kubernetes.io/unschedulable");
  EXPECT_EQ(evicted("cordoned"), 0U);
  node_a({.milli_cpus = 4000, .memory = 9, .members = 9});
  EXPECT_EQ(evicted("small"), 0U);
}

struct MemoryRow {
  const char* name;
  std::int32_t priority;  // of who has most of node a's memory, beside a pod of a lower one there
  bool whole_cpus;        // that pod has CPUs of its own
  std::size_t evicted;
};

class MemoryTest : public PreemptionTest, public testing::WithParamInterface<MemoryRow> {};

// A gang of two members, of 5 CPUs and 6 GiB each: node b would have to be emptied, and node a has
// the CPUs. Who stays there leaves memory for it or not.
TEST_P(MemoryTest, OfThoseThatStayCounts) {
  const ResourceList allocatable{.milli_cpus = 8000, .memory = 10 * kGiB, .members = 10};
  for (const char* node : {"a", "b"}) {
    pod_scheduler_.node({.name = node, .allocatable = allocatable}, now_);
  }
  Pod other = pod_of("other", 1);
  if (!GetParam().whole_cpus) other.qos = policy::Qos::kBurstable;
  other.node = "a";
  other.priority = GetParam().priority;
  other.requests = {.milli_cpus = 1000, .memory = 8 * kGiB, .members = 1};
  EXPECT_TRUE(pod_scheduler_.seen(other, now_));
  add_low("b", 4);
  Pod pod;
  for (int i = 0; i < 2; ++i) {
    pod = urgent(member_of("j", i, 2, 5));
    pod.requests = {.milli_cpus = 5000, .memory = 6 * kGiB, .members = 1};
    pod_scheduler_.seen(pod, now_);
  }
  EXPECT_EQ(kept(pod, {{.node = "b", .victims = {"low-b"}}}), GetParam().evicted);
}

INSTANTIATE_TEST_SUITE_P(Table, MemoryTest,
                         testing::Values(MemoryRow{"lower_priority", 0, true, 1},
                                         MemoryRow{"equal_priority", 5, true, 0},
                                         MemoryRow{"higher_priority", 9, true, 0},
                                         MemoryRow{"lower_without_cpus", 0, false, 1},
                                         MemoryRow{"higher_without_cpus", 9, false, 0}),
                         [](const auto& row) { return std::string(row.param.name); });

// What a less urgent gang merely holds on node b goes with the pod that is evicted there.
TEST_F(PreemptionTest, PlacesThatLessUrgentJobsHoldCountAsFree) {
  add_low("a", 7);
  add_low("b", 3);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pod_scheduler_.seen(member_of("held", i, 2, 2), now_));
  ASSERT_EQ(filtered(member_of("held", 0, 2, 2)), "b");
  const std::vector<Eviction> low{{.node = "b", .victims = {"low-b"}}};
  EXPECT_EQ(kept(urgent(pod_of("single", 7)), low), 1U);
  EXPECT_EQ(kept(pod_of("equal", 7), low), 0U) << "those of no lower priority stay";
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(pod_scheduler_.seen(urgent(member_of("j", i, 2, 7)), now_));
  EXPECT_EQ(kept(urgent(member_of("j", 1, 2, 7)), low), 1U);
}

// The gang may use one node, and its members would have to go to two.
TEST_F(PreemptionTest, NobodyIsEvictedForAGangThatNeedsMoreNodesThanItMayUse) {
  add_low("b", 4);
  const auto evicted = [&](const std::string& nodes) {
    Pod pod;
    for (int i = 0; i < 2; ++i) {
      pod = urgent(member_of("j" + nodes, i, 2, 5));
      pod.annotations["pinion.dev/nodes"] = nodes;
      pod_scheduler_.seen(pod, now_);
    }
    return kept(pod, {{.node = "b", .victims = {"low-b"}}});
  };
  EXPECT_EQ(evicted("2"), 1U);
  EXPECT_EQ(evicted("1"), 0U);
}

// A gang of two, of 3 CPUs each, that may use one node. On a there is room for one, beside who is
// more urgent; b would have to be emptied of two.
class OneNodeTest : public PreemptionTest {
 protected:
  void SetUp() override {
    PreemptionTest::SetUp();
    add("high", "a", 4, 9);
    report("a", {{"high/main", 4}});
    for (const auto& [uid, cpus] : {std::pair("low1", 3), std::pair("low2", 4)}) {
      add(uid, "b", cpus, 0);
    }
    report("b", {{"low1/main", 3}, {"low2/main", 4}});
    for (const int i : {0, 1}) EXPECT_TRUE(pod_scheduler_.seen(member(i), now_));
  }
  void add(const std::string& uid, const std::string& node, int cpus, std::int32_t priority) {
    Pod pod = pod_of(uid, cpus);
    pod.node = node;
    pod.priority = priority;
    EXPECT_TRUE(pod_scheduler_.seen(pod, now_));
  }
  static Pod member(int number, const std::string& nominated = {}) {
    Pod pod = urgent(member_of("j", number, 2, 3), nominated);
    pod.annotations["pinion.dev/nodes"] = "1";
    return pod;
  }
};

TEST_F(OneNodeTest, NobodyIsNominatedToANodeThatTheGangWouldNotUse) {
  EXPECT_EQ(filtered(member(0)), "");
  EXPECT_TRUE(pod_scheduler_.take_effects().nominations.empty());
}

TEST_F(OneNodeTest, PodsAreEvictedWhereAllOfTheGangWouldBe) {
  const std::vector<Eviction> both{{.node = "a", .victims = {}},
                                   {.node = "b", .victims = {"low1"}}};
  const auto kept = pod_scheduler_.preempt(member(0), both, now_);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].node, "b");
  EXPECT_EQ(this->kept(member(1), {{.node = "b", .victims = {"low2"}}}), 1U);
}

TEST_F(OneNodeTest, WhoIsNominatedElsewhereHasNotItsPlace) {
  EXPECT_EQ(kept(member(0, "a"), {{.node = "b", .victims = {"low1"}}}), 1U);
}

// A less urgent gang holds what is free on node a, where a member of the other one is nominated.
TEST_F(PreemptionTest, WhoHasItsPlaceWhereLessUrgentJobsHoldPlacesHasIt) {
  add_low("b", 7);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pod_scheduler_.seen(member_of("held", i, 2, 3), now_));
  ASSERT_EQ(filtered(member_of("held", 0, 2, 3)), "a");
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(pod_scheduler_.seen(urgent(member_of("j", i, 2, 5)), now_));
  const std::vector<Eviction> low{{.node = "b", .victims = {"low-b"}}};
  EXPECT_EQ(kept(urgent(member_of("j", 0, 2, 5), "a"), low), 0U);
  EXPECT_EQ(kept(urgent(member_of("j", 1, 2, 5)), low), 1U);
}

// Node b would have to be emptied of a service, and on node a there is room beside another job.
TEST(PreemptionRules, NobodyIsEvictedForAGangThatTheRulesWouldKeepOut) {
  const MachinePtr machine = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
  const auto evicted = [&](const ColocationRules& rules, int size, int cpus) {
    PodScheduler pods(policy::Defaults(), {.scheduler = {.colocation = rules}});
    for (const char* name : {"a", "b"}) EXPECT_TRUE(pods.report(report_of(name, machine), 0));
    Pod other = pod_of("other", 1);
    other.node = "a";
    other.priority = 5;
    EXPECT_TRUE(pods.seen(other, 1));
    Pod service = pod_of("low", 7, {{"class", "service"}});
    service.node = "b";
    EXPECT_TRUE(pods.seen(service, 1));
    Pod pod;
    for (int i = 0; i < size; ++i) {
      pod = member_of("j", i, size, cpus);
      pod.priority = 5;
      pods.seen(pod, 1);
    }
    return pods.preempt(pod, {{.node = "b", .victims = {"low"}}}, 1).size();
  };
  EXPECT_EQ(evicted({}, 2, 5), 1U);
  EXPECT_EQ(evicted({.jobs_share = false}, 2, 5), 0U);
  EXPECT_EQ(evicted({}, 3, 3), 1U);
  EXPECT_EQ(evicted({.apart = true}, 3, 3), 0U);
}

}  // namespace
}  // namespace pinion::cluster
