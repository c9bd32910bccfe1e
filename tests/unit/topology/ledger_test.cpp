#include "topology/ledger.h"

#include <gtest/gtest.h>

namespace pinion::topology {
namespace {

Claim claim(const std::string& id, CpuSet cpus, std::vector<Claim::Share> memory = {}) {
  Claim result;
  result.id = id;
  result.cpus = cpus;
  result.memory = std::move(memory);
  return result;
}

TEST(Ledger, HoldsWhatIsCommittedUntilItIsReleased) {
  Ledger ledger(CpuSet{0});
  ledger.commit(claim("a", {1, 2}, {{.node = 1, .bytes = 100}}));
  ledger.commit(claim("b", {3}, {{.node = 0, .bytes = 7}, {.node = 1, .bytes = 20}}));
  EXPECT_EQ(ledger.exclusive(), (CpuSet{1, 2, 3}));
  EXPECT_EQ(ledger.promised(0), 7U);
  EXPECT_EQ(ledger.promised(1), 120U);
  EXPECT_EQ(ledger.find("a")->cpus, (CpuSet{1, 2}));
  EXPECT_EQ(ledger.find("c"), nullptr);

  EXPECT_TRUE(ledger.release("a"));
  EXPECT_FALSE(ledger.release("a"));
  EXPECT_EQ(ledger.exclusive(), CpuSet{3});
  EXPECT_EQ(ledger.promised(1), 20U);
  EXPECT_TRUE(ledger.release("b"));
  EXPECT_EQ(ledger, Ledger(CpuSet{0}));
}

TEST(Ledger, PromisesNothingOnNodesItNeverHeardOf) {
  const Ledger ledger;
  EXPECT_EQ(ledger.promised(0), 0U);
  EXPECT_EQ(ledger.promised(99), 0U);
  EXPECT_EQ(ledger.promised(kNoIndex), 0U);
}

TEST(Ledger, TheSameIdIsReplaced) {
  Ledger ledger;
  ledger.commit(claim("a", {1, 2}, {{.node = 0, .bytes = 100}}));
  ledger.commit(claim("a", {2, 3}, {{.node = 0, .bytes = 40}}));
  EXPECT_EQ(ledger.exclusive(), (CpuSet{2, 3}));
  EXPECT_EQ(ledger.promised(0), 40U);
  EXPECT_EQ(ledger.claims().size(), 1U);
}

TEST(LedgerDeathTest, StopsTheProcessRatherThanHoldACpuTwice) {
  Ledger ledger(CpuSet{0});
  ledger.commit(claim("a", {1, 2}));
  EXPECT_DEATH(ledger.commit(claim("b", {2, 3})), "");
  EXPECT_DEATH(ledger.commit(claim("b", {0, 3})), "");
  EXPECT_DEATH(ledger.commit(claim("b", {})), "");
}

}  // namespace
}  // namespace pinion::topology
