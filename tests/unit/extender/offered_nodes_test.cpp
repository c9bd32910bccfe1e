// Gangs whose planned nodes the scheduler does not offer: it has sampled others, or does not take
// them.
#include "tests/unit/extender/pod_scheduler_scene.h"

namespace pinion::cluster {
namespace {

class OfferedNodesTest : public PodSchedulerTest {
 protected:
  // 100 nodes or more are a sample; nobody speaks for those beside `node`.
  static Names sample(std::string_view node) {
    static const std::vector<std::string> others = [] {
      std::vector<std::string> names;
      for (int i = 0; i < 100; ++i) names.push_back("other-" + std::to_string(i));
      return names;
    }();
    Names names(others.begin(), others.end());
    names.push_back(node);
    return names;
  }
  std::size_t nominations() { return pod_scheduler_.take_effects().nominations.size(); }
};

TEST_F(OfferedNodesTest, OneThatIsNotInASampleIsNominatedOnce) {
  exist("j", 2, 3);
  const Pod first = member_of("j", 0, 2, 3);
  const std::string node = filtered(first);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(filtered(first, sample(other)), "");
  EXPECT_EQ(answer_.why, "the plan of its gang has another node for it");
  const auto effects = pod_scheduler_.take_effects();
  ASSERT_EQ(effects.nominations.size(), 1U);
  EXPECT_EQ(effects.nominations[0].node, node);
  now_ += 500;
  EXPECT_EQ(filtered(first, sample(other)), "") << "it may not be known yet";
  EXPECT_EQ(nominations(), 0U);
  EXPECT_EQ(filtered(first, {node}), node);
  now_ += 10'000;
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 0U);
}

TEST_F(OfferedNodesTest, OneThatIsNominatedAndStillNotOfferedIsPlannedAround) {
  exist("j", 2, 3);
  const Pod first = member_of("j", 0, 2, 3);
  const std::string node = filtered(first);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(filtered(first, sample(other)), "");
  now_ += 2000;
  EXPECT_EQ(filtered(first, sample(other)), other);
}

TEST_F(OfferedNodesTest, OneThatIsNotAmongAllIsPlannedAroundAtOnce) {
  exist("j", 2, 3);
  const Pod first = member_of("j", 0, 2, 3);
  const std::string node = filtered(first);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(filtered(first, {other}), other);
  EXPECT_EQ(nominations(), 0U);
}

TEST_F(OfferedNodesTest, AnotherOneThatWasNominatedBeforeIsRefusedUntilAllAreOffered) {
  exist("j", 2, 3);
  Pod first = member_of("j", 0, 2, 3);
  const std::string node = filtered(first);
  const std::string other = node == "a" ? "b" : "a";
  first.nominated = other;
  EXPECT_EQ(filtered(first, {other}), "");
  EXPECT_EQ(filtered(first), node);
  EXPECT_EQ(pod_scheduler_.gang_counters().given_up, 0U);
}

// The scheduler has room for one member on a, for something that it alone counts.
TEST_F(OfferedNodesTest, WhoseNodesAreTakenKeepThemWhileTheOthersArePlannedAround) {
  exist("j", 3, 3);
  const Pod first = member_of("j", 0, 3, 3);
  ASSERT_EQ(filtered(first, {"a"}), "") << "three would not fit there";
  const std::string node = filtered(first);
  const std::string other = node == "a" ? "b" : "a";
  EXPECT_EQ(bind(first, node, 1).kind, Kind::kHold);
  for (int i = 1; i < 3; ++i) {
    const Pod pod = member_of("j", i, 3, 3);
    EXPECT_EQ(filtered(pod, {other}), other) << i;
    EXPECT_EQ(bind(pod, other, static_cast<CallId>(i + 1)).kind, i == 1 ? Kind::kHold : Kind::kGo);
  }
  EXPECT_EQ(pod_scheduler_.gang_counters().whole, 1U);
}

TEST_F(OfferedNodesTest, WhereTheOthersFindNoRoomNobodyKeepsAny) {
  exist("j", 2, 3);
  report("b", {{"x/main", 5}});
  const Pod first = member_of("j", 0, 2, 3);
  ASSERT_EQ(filtered(first), "a");
  EXPECT_EQ(bind(first, "a", 1).kind, Kind::kHold);
  EXPECT_EQ(filtered(member_of("j", 1, 2, 3), {"b"}), "");
  EXPECT_EQ(answer_.why,
            "needs 1 x 3 CPUs and 1 GiB in one NUMA node; no node has such a hole, largest 2");
  EXPECT_EQ(
      pod_scheduler_.take_effects().answered,
      (std::vector<Answered>{
          {1, false, "the scheduler does not take a member of its gang where it was planned"}}));
  EXPECT_EQ(pod_scheduler_.fleet().promises(), 0U);
}

}  // namespace
}  // namespace pinion::cluster
