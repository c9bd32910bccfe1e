#include "cluster/extender/elastic/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::cluster::elastic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(History, IsReadAsItWasWritten) {
  const std::vector<PastStep> steps{
      past_step(1'764'084'168'999, "shrink", "from 8 to 4 workers, to make room for a: b"),
      past_step(0, "start", "")};
  const std::string text = history_text(steps);
  EXPECT_EQ(text,
            "2025-11-25T15:22:48Z shrink: from 8 to 4 workers, to make room for a: b\n"
            "1970-01-01T00:00:00Z start: ");
  EXPECT_EQ(read_history(text), steps);
}

TEST(History, KeepsTheNewestAndCutsWhatIsLong) {
  std::vector<PastStep> steps;
  for (int i = 0; i < 30; ++i) steps.push_back(past_step(i, "resize", std::string(1000, 'x')));
  steps[0].why = "one\ntwo";
  const std::string text = history_text(steps);
  EXPECT_LE(text.size(), kStepsKept * (kLongestStep + 1));
  const auto read = read_history(text);
  ASSERT_THAT(read, SizeIs(kStepsKept));
  EXPECT_EQ(read[0].why, "one two");
  EXPECT_EQ(history_text(read), text);
}

TEST(History, WhatPeopleWroteThereIsPassedOver) {
  EXPECT_THAT(read_history(""), IsEmpty());
  EXPECT_THAT(read_history("\n\nno\nno step\n: \n" + std::string(5000, 'x') + ": y\n"), IsEmpty());
  EXPECT_THAT(read_history("by hand\nt done: it went\n: x: y"),
              ElementsAre(PastStep{.at = "t", .what = "done", .why = "it went"},
                          PastStep{.at = ":", .what = "x", .why = "y"}));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "t w: y\n";
  EXPECT_THAT(read_history(many), SizeIs(kStepsKept));
}

}  // namespace
}  // namespace pinion::cluster::elastic
