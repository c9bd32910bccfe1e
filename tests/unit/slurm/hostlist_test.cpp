#include "cluster/slurm/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(Hostlist, StandsForEachName) {
  EXPECT_THAT(expand_hosts(""), Optional(IsEmpty()));
  EXPECT_THAT(expand_hosts("node-0"), Optional(ElementsAre("node-0")));
  EXPECT_THAT(expand_hosts("node-[0,2-3],login"),
              Optional(ElementsAre("node-0", "node-2", "node-3", "login")));
  EXPECT_THAT(expand_hosts("r[08-10]c1"), Optional(ElementsAre("r08c1", "r09c1", "r10c1")));
}

TEST(Hostlist, WhatIsNoListIsNothing) {
  for (const char* list : {",", "a,", "a[", "a]", "a[1", "a[]", "a[3-1]", "a[x]", "a[1]b[2]",
                           "a[0-99999999]", "a[-1]"}) {
    EXPECT_EQ(expand_hosts(list), std::nullopt) << list;
  }
}

TEST(Hostlist, FirstTasksOfAnArray) {
  EXPECT_THAT(first_tasks("0,2-9:3%4", 10), ElementsAre(0, 2, 5, 8));
  EXPECT_THAT(first_tasks("0-1000", 2), ElementsAre(0, 1));
  EXPECT_THAT(first_tasks("1,3,...", 10), ElementsAre(1, 3));
  EXPECT_THAT(first_tasks("", 10), IsEmpty());
  EXPECT_THAT(first_tasks("0-9:0", 10), IsEmpty());
}

}  // namespace
}  // namespace pinion::slurm
