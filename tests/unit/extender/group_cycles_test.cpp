// Where one of kube-scheduler's cycles over a gang of its own ends and the next begins.
#include "cluster/extender/scheduling/group_cycles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GroupCycles, BeginWithWhoHasBeenAskedAboutAlready) {
  struct Question {
    const char* uid;
    bool nominated;
    bool same;  // cycle
  };
  struct Case {
    const char* name;
    std::vector<Question> questions;
  };
  const Case cases[] = {
      {"each member once", {{"p", false, true}, {"q", false, true}, {"r", false, true}}},
      {"again from the first", {{"p", false, true}, {"q", false, true}, {"p", false, false}}},
      {"again from the second", {{"p", false, true}, {"q", false, true}, {"q", false, false}}},
      {"two in a row", {{"p", false, true}, {"p", false, false}, {"p", false, false}}},
      {"the nominated node and then all", {{"p", true, true}, {"p", false, true}}},
      {"the nominated node twice", {{"p", true, true}, {"p", true, false}}},
      {"all nodes and then the nominated one", {{"p", false, true}, {"p", true, false}}},
      {"the nominated node, all, and again",
       {{"p", true, true}, {"p", false, true}, {"q", true, true}, {"p", true, false}}},
      {"after a new one each counts anew",
       {{"p", false, true}, {"q", false, true}, {"p", false, false}, {"q", false, true}}},
  };
  for (const Case& one : cases) {
    GroupCycles cycles(10);
    std::size_t number = 0;
    for (const Question& question : one.questions) {
      ++number;
      EXPECT_EQ(cycles.asked("g", question.uid, question.nominated, 0), question.same)
          << one.name << ", question " << number;
      EXPECT_TRUE(cycles.has_asked("g", question.uid)) << one.name << ", question " << number;
    }
  }
}

TEST(GroupCycles, OfTwoGangsHaveNothingToDoWithEachOther) {
  GroupCycles cycles(10);
  EXPECT_TRUE(cycles.asked("g", "p", false, 0));
  EXPECT_TRUE(cycles.asked("h", "q", false, 0));
  EXPECT_FALSE(cycles.has_asked("h", "p"));
  EXPECT_FALSE(cycles.asked("g", "p", false, 0));
  EXPECT_TRUE(cycles.has_asked("h", "q"));
}

TEST(GroupCycles, AreOverdueAfterTheirLastQuestion) {
  GroupCycles cycles(10);
  cycles.asked("g", "p", false, 0);
  cycles.asked("h", "q", false, 5);
  cycles.asked("g", "r", false, 10);
  EXPECT_THAT(cycles.take_overdue(14), IsEmpty());
  EXPECT_THAT(cycles.take_overdue(15), ElementsAre("h"));
  EXPECT_THAT(cycles.take_overdue(20), ElementsAre("g"));
  EXPECT_THAT(cycles.take_overdue(100), IsEmpty()) << "each is told once";
  EXPECT_TRUE(cycles.asked("g", "p", false, 100)) << "its cycle was over";
}

TEST(GroupCycles, AreOverdueSoonerWhenTheOneBeforeWasGivenUp) {
  struct Case {
    const char* name;
    void (*before)(GroupCycles& cycles);
    std::int64_t overdue_ms;  // after the last question
  };
  const Case cases[] = {
      {"the first", [](GroupCycles&) {}, 100},
      {"after another question about one of it",
       [](GroupCycles& cycles) {
         cycles.asked("g", "p", false, 0);
         cycles.asked("g", "p", false, 0);
         cycles.asked("g", "q", false, 0);
       },
       10},
      {"after an overdue one",
       [](GroupCycles& cycles) {
         cycles.asked("g", "p", false, -200);
         cycles.take_overdue(-50);
       },
       10},
      {"after its end",
       [](GroupCycles& cycles) {
         cycles.asked("g", "p", false, -200);
         cycles.take_overdue(-50);
         cycles.end("g");
       },
       100},
  };
  for (const Case& one : cases) {
    GroupCycles cycles(100);
    one.before(cycles);
    cycles.asked("g", "r", false, 0);
    EXPECT_THAT(cycles.take_overdue(one.overdue_ms - 1), IsEmpty()) << one.name;
    EXPECT_THAT(cycles.take_overdue(one.overdue_ms), ElementsAre("g")) << one.name;
  }
}

}  // namespace
}  // namespace pinion::cluster
