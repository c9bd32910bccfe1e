// A dry run refuses what a pod's annotations would be refused for.
#include "policy/plan.h"

#include <gtest/gtest.h>

#include "tests/support/machine.h"

namespace pinion::policy {
namespace {

using topology::Decision;
using topology::Refusal;

TEST(PolicyPlan, WhatIsNotAllowedIsRefusedAndHoldsNothing) {
  const topology::Topology machine = test_support::laptop();
  const topology::Ledger ledger(topology::CpuSet{0});
  std::vector<topology::Request> requests(3);
  requests[0].id = "a";
  requests[0].cpus = 2;
  requests[1].id = "b";
  requests[1].cpus = 2;
  requests[1].smt = topology::Smt::kOnePerCore;
  requests[2].id = "c";
  requests[2].cpus = 2;
  const topology::Plan strict = policy::plan(machine, ledger, requests, {});
  ASSERT_EQ(strict.outcomes.size(), 3U);
  const auto& refusal = std::get<Refusal>(strict.outcomes[1]);
  EXPECT_EQ(to_string(refusal.reason), "annotation");
  EXPECT_EQ(refusal.text, not_allowed(requests[1], {}));
  EXPECT_EQ(refusal.need, 2);
  EXPECT_EQ(strict.ledger.find("b"), nullptr);
  const topology::Plan without = topology::plan(machine, ledger, {requests[0], requests[2]});
  EXPECT_EQ(strict.outcomes[0], without.outcomes[0]);
  EXPECT_EQ(strict.outcomes[2], without.outcomes[1]);
  EXPECT_EQ(plan(machine, ledger, requests, {Privilege::kOnePerCore}).outcomes,
            topology::plan(machine, ledger, requests).outcomes);
}

}  // namespace
}  // namespace pinion::policy
