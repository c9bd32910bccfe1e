#include "ctl/plan/draw_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctl/plan/requests_file.h"
#include "tests/support/machine.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;
using topology::CpuSet;
using topology::Ledger;

struct Planned {
  topology::Topology machine;
  std::vector<topology::Request> requests;
  topology::Plan plan;
};

Planned plan_of(const topology::Topology& machine, const CpuSet& reserved,
                const std::string& requests) {
  Planned planned;
  planned.machine = machine;
  planned.requests = parse_requests(requests).value();
  planned.plan = topology::plan(machine, Ledger(reserved), planned.requests);
  return planned;
}

Planned example() {
  return plan_of(test_support::machine({.packages = 2, .cores_per_l3 = 4, .threads_per_core = 2}),
                 {0, 8},
                 "- {id: rank, count: 2, cpus: 4, job: j, task-group: g, memory: 1Gi}\n"
                 "- {id: big, cpus: 16, job: j}\n"
                 "- {id: small, cpus: 1, smt: pack}\n");
}

TEST(DrawPlan, SaysWhoGotWhatAndWhy) {
  const Planned p = example();
  const std::string text = draw_plan(p.machine, p.requests, p.plan);
  EXPECT_THAT(text, HasSubstr("A  rank-0     4      1-2,9-10   0     0   0     numa 0: 4 of 6 free "
                              "CPUs, best of 2 fitting\n"));
  EXPECT_THAT(text, HasSubstr("B  rank-1     4      4-5,12-13  1     1   1     numa 1: 4 of 8 free "
                              "CPUs, best of 1 fitting\n"));
  EXPECT_THAT(text, HasSubstr("refused  big  not enough CPUs in any NUMA node, even when all are "
                              "free: need 16, largest 8"));
  EXPECT_THAT(text, HasSubstr("3 of 4 containers placed, 7 of 16 CPUs left to everybody else\n"));
}

TEST(DrawPlan, ThePictureMarksTheContainers) {
  const Planned p = example();
  const std::string text = draw_plan(p.machine, p.requests, p.plan);
  EXPECT_THAT(text, HasSubstr("[ 0r  8r] [ 1A  9A] [ 2A 10A] [ 3C 11 ]"));
  EXPECT_THAT(text, HasSubstr("A  rank-0: CPUs 1-2,9-10\n"));
  EXPECT_THAT(text, HasSubstr("C  small: CPU 3\n"));
}

TEST(DrawPlan, SaysWhatStillFits) {
  const Planned p = example();
  const std::string text = draw_plan(p.machine, p.requests, p.plan);
  EXPECT_THAT(text, HasSubstr("still fits    l3  numa  socket  none\n"
                              "prefer-full   4   4     4       5\n"
                              "full-core     4   4     4       4\n"
                              "one-per-core  2   2     2       2\n"));
}

TEST(DrawPlan, MoreContainersThanLetters) {
  const Planned p = plan_of(test_support::epyc_rome_256(), {0, 128}, "- {cpus: 2, count: 100}\n");
  const std::string text = draw_plan(p.machine, p.requests, p.plan);
  EXPECT_THAT(text, HasSubstr("#  held by a container: CPUs 1-100,129-228"));
  EXPECT_THAT(text, HasSubstr("100 of 100 containers placed, 56 of 256"));
}

TEST(DrawPlan, AnEmptyListIsAPlanToo) {
  const Planned p = plan_of(test_support::two_core_vm(), {}, "[]");
  EXPECT_THAT(draw_plan(p.machine, p.requests, p.plan), HasSubstr("0 of 0 containers placed"));
}

TEST(PlanJson, HasTheSameAsData) {
  const Planned p = example();
  const std::string text = plan_json(p.machine, p.requests, p.plan);
  EXPECT_THAT(text, HasSubstr(R"("id": "rank-0",
      "asked_cpus": 4,
      "placed": {
        "cpus": "1-2,9-10",
        "held": "1-2,9-10",
        "mems": "0",)"));
  EXPECT_THAT(text, HasSubstr(R"("reason": "topology")"));
  EXPECT_THAT(text, HasSubstr(R"("largest": 4,)"));
}

}  // namespace
}  // namespace pinion::ctl
