#include "agent/noise/affinity_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/machine.h"

namespace pinion::noise {
namespace {

CpuSet cpus(const std::string& list) {
  return CpuSet::parse(list).value();
}

struct Case {
  const char* name;
  topology::Topology (*machine)();
  const char* exclusive;
  const char* original;
  const char* current;
  const char* last;  // nullptr: nothing was written yet
  Step step;
  const char* wanted;
};

class AffinityPlan : public testing::TestWithParam<Case> {};

TEST_P(AffinityPlan, IsAsInTheTable) {
  const Case& one = GetParam();
  Affinity affinity{.original = cpus(one.original), .current = cpus(one.current)};
  if (one.last != nullptr) affinity.last = cpus(one.last);
  const Plan made = plan(affinity, cpus(one.exclusive), one.machine().online);
  EXPECT_EQ(made.step, one.step);
  EXPECT_EQ(made.cpus.to_string(), one.wanted);
}

topology::Topology half_offline() {
  return test_support::machine({.cores_per_l3 = 4, .offline = {2, 3}});
}

INSTANTIATE_TEST_SUITE_P(
    Named, AffinityPlan,
    testing::Values(
        // --- a rank comes ---
        Case{"OffTheRank", test_support::laptop, "2,6", "0-7", "0-7", nullptr, Step::kWrite,
             "0-1,3-5,7"},
        Case{"NotConcerned", test_support::laptop, "2,6", "0-1", "0-1", nullptr, Step::kLeave,
             "0-1"},
        Case{"OneSocketOfTwo", test_support::xeon_snc2, "24-47", "0-95", "0-95", nullptr,
             Step::kWrite, "0-23,48-95"},
        Case{"ItsWholeNodeIsHeld", test_support::xeon_snc2, "0-11,48-59", "0-11,48-59",
             "0-11,48-59", nullptr, Step::kWrite, "12-47,60-95"},
        Case{"BoundToTheRanksCpu", test_support::two_core_vm, "1", "1", "1", nullptr, Step::kWrite,
             "0"},
        Case{"OnlyOfflineOnesAreLeft", half_offline, "1", "1-3", "1-3", nullptr, Step::kWrite, "0"},
        Case{"SomeOfflineOnesAreLeft", half_offline, "1", "0-3", "0-3", nullptr, Step::kWrite,
             "0,2-3"},
        Case{"CpusThatDoNotExistAreHarmless", test_support::two_core_vm, "1", "0-255", "0-255",
             nullptr, Step::kWrite, "0,2-255"},
        Case{"EveryCpuIsHeld", test_support::two_core_vm, "0-1", "0-1", "0-1", nullptr,
             Step::kNowhere, ""},
        Case{"ASingleCpu", test_support::single_cpu, "0", "0", "0", nullptr, Step::kNowhere, ""},
        // --- it stays ---
        Case{"StillRight", test_support::laptop, "2,6", "0-7", "0-1,3-5,7", "0-1,3-5,7",
             Step::kLeave, "0-1,3-5,7"},
        Case{"PutBack", test_support::laptop, "2,6", "0-7", "0-7", "0-1,3-5,7", Step::kCorrect,
             "0-1,3-5,7"},
        Case{"PutOnTheRankAlone", test_support::laptop, "2,6", "0-7", "6", "0-1,3-5,7",
             Step::kCorrect, "0-1,3-5,7"},
        Case{"OthersChoiceThatDisturbsNobody", test_support::laptop, "2,6", "0-7", "4", "0-1,3-5,7",
             Step::kLeave, "0-1,3-5,7"},
        // --- another one comes, or one of two leaves ---
        Case{"OneMore", test_support::laptop, "2-3,6-7", "0-7", "0-1,3-5,7", "0-1,3-5,7",
             Step::kWrite, "0-1,4-5"},
        Case{"OneLess", test_support::laptop, "3,7", "0-7", "0-1,4-5", "0-1,4-5", Step::kWrite,
             "0-2,4-6"},
        // --- the last one leaves ---
        Case{"Back", test_support::laptop, "", "0-7", "0-1,3-5,7", "0-1,3-5,7", Step::kWrite,
             "0-7"},
        Case{"BackOverOthersChoice", test_support::laptop, "", "0-7", "4", "0-1,3-5,7",
             Step::kWrite, "0-7"},
        Case{"BackAfterACrash", test_support::laptop, "", "0-7", "0-1,3-5,7", nullptr, Step::kWrite,
             "0-7"},
        Case{"WasNeverMoved", test_support::laptop, "", "0-1", "1", "0-1", Step::kLeave, "0-1"},
        Case{"BackTwice", test_support::laptop, "", "0-7", "0-7", "0-7", Step::kLeave, "0-7"}),
    [](const auto& param) { return param.param.name; });

TEST(Disturbs, IsWhereItFiresIfTheKernelSaysSo) {
  const CpuSet held{2};
  EXPECT_TRUE(disturbs({.original = {2}, .current = {1, 2}}, held));
  EXPECT_FALSE(disturbs({.original = {2}, .current = {1}}, held));
  EXPECT_FALSE(disturbs({.original = {2}, .current = {1, 2}, .effective = CpuSet{1}}, held));
  EXPECT_TRUE(disturbs({.original = {2}, .current = {1, 2}, .effective = CpuSet{2}}, held));
}

}  // namespace
}  // namespace pinion::noise
