#include "cluster/slurm/mark.h"

#include <gtest/gtest.h>

namespace pinion::slurm {
namespace {

TEST(Told, IsCutBetweenCharacters) {
  const std::string why = std::string(399, 'x') + "\u00e9\u00e9";
  EXPECT_EQ(told("", why), "[pinion: " + std::string(399, 'x') + "]");
}

TEST(Mark, IsReadAsItWasWritten) {
  const Mark mark{.user_held = false,
                  .attempt = 3,
                  .failed = 2,
                  .since_s = 1'795'562'144,
                  .after_s = 7,
                  .sizes = Sizes{.least = 2, .most = 8, .cpus = 4},
                  .cpus = {{"node-0", "0-3,8"}, {"node-2", "4"}}};
  EXPECT_EQ(to_text(mark),
            "pinion=wait;attempt=3;failed=2;since=1795562144;after=7;sizes=2-8x4;"
            "cpus=node-0:0-3,8/node-2:4");
  EXPECT_EQ(read_mark(to_text(mark)), mark);
  EXPECT_EQ(read_mark("pinion=wait"), Mark());
  EXPECT_EQ(read_mark("pinion=user-held")->user_held, true);
}

TEST(Mark, AHelperHasTheNumberOfTheJobThatGrows) {
  EXPECT_EQ(grown_by("pinion-grows=12"), 12U);
  EXPECT_EQ(read_mark("pinion-grows=12"), std::nullopt) << "it waits for no cores";
  for (const char* text :
       {"", "pinion=wait", "pinion-grows=", "pinion-grows=x", "x pinion-grows=1"}) {
    EXPECT_EQ(grown_by(text), 0U) << text;
  }
}

TEST(Mark, JobsOfOthersHaveNone) {
  for (const char* text : {"", "x", "pinion", "pinion=other", "attempt=1;pinion=wait"}) {
    EXPECT_EQ(read_mark(text), std::nullopt) << text;
  }
}

TEST(Mark, WhatIsNotUnderstoodIsLeftOut) {
  EXPECT_EQ(read_mark("pinion=wait;attempt=-1;since=x;cpus=:1/a:/b;new=1"), Mark());
  for (const char* sizes : {"", "2", "2-8", "2-8x", "0-8x4", "9-8x4", "2-8x0", "2-8x4x5"}) {
    EXPECT_EQ(read_mark(std::string("pinion=wait;sizes=") + sizes), Mark()) << sizes;
  }
}

TEST(Comment, WhatWeTellReplacesWhatWeToldBefore) {
  EXPECT_EQ(told("profile=cpu", "waits"), "profile=cpu [pinion: waits]");
  EXPECT_EQ(told("profile=cpu [pinion: waits]", "too large]\n"),
            "profile=cpu [pinion: too large  ]");
  EXPECT_EQ(told("[pinion: waits]", "x"), "[pinion: x]");
  EXPECT_EQ(told("profile=cpu [pinion: waits]", ""), "profile=cpu");
  EXPECT_EQ(told("[pinion: waits]", ""), "");
}

TEST(Comment, HasWords) {
  EXPECT_EQ(word_in("a profile=cpu,b", "profile"), "cpu");
  EXPECT_EQ(word_in("a [pinion: profile=cpu]", "profile"), "");
  EXPECT_TRUE(has_word("profile=cpu released-by-user", kReleased));
  EXPECT_FALSE(has_word("released-by-users", kReleased));
}

}  // namespace
}  // namespace pinion::slurm
