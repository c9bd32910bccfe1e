#include "cluster/core/run_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::cluster {
namespace {

// With 4 CPUs, of which it used so much since its start.
ContainerUse rank(const std::string& id, double used_s) {
  return {.job = "ns/wind", .id = id, .cpus = 4, .used_s = used_s};
}

TEST(JobKey, IsOfNamesAsKubernetesHasThem) {
  EXPECT_EQ(job_key("hpc", "wind-1.x_Y"), "hpc/wind-1.x_Y");
  EXPECT_EQ(job_key("hpc", std::string(253, 'a')).size(), 257U);
  EXPECT_EQ(job_key("", "wind"), "");
  EXPECT_EQ(job_key("hpc", ""), "");
  EXPECT_EQ(job_key("hpc", std::string(254, 'a')), "");
  EXPECT_EQ(job_key("hpc", "a/b"), "");
  EXPECT_EQ(job_key("hpc", "a\"b"), "");
  EXPECT_EQ(job_key("hpc", "\xC3\xA4"), "");
}

TEST(RunBook, ARunIsOverWhenItsLastContainerIsGone) {
  RunBook book;
  EXPECT_TRUE(book.observe("a", {rank("1", 0)}, 0).empty());
  EXPECT_TRUE(book.observe("b", {rank("2", 0)}, 0).empty());
  EXPECT_TRUE(book.observe("a", {rank("1", 160)}, 40).empty());
  EXPECT_TRUE(book.observe("b", {rank("2", 80)}, 40).empty());
  EXPECT_TRUE(book.observe("a", {}, 50).empty()) << "it goes on on b";
  const auto ended = book.observe("b", {}, 50);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].job, "ns/wind");
  EXPECT_EQ(ended[0].figures.allotted, 320);
  EXPECT_EQ(ended[0].figures.used, 240);
  EXPECT_EQ(ended[0].figures.seconds, 40) << "of both at once";
  EXPECT_EQ(book.runs(), 0U);
}

TEST(RunBook, CountersAreComparedAfterAnInterval) {
  RunBook book;
  book.observe("a", {rank("1", 100)}, 0);
  book.observe("a", {rank("1", 140)}, 10);
  book.observe("a", {rank("1", 180)}, 20);
  EXPECT_TRUE(book.observe("a", {}, 20).empty()) << "nothing was compared yet";
}

TEST(RunBook, TimeInWhichAContainerDidNothingCountsForNothing) {
  RunBook book;
  book.observe("a", {rank("1", 0)}, 0);
  for (int i = 1; i <= 10; ++i) book.observe("a", {rank("1", 0.1 * i)}, 30 * i);
  book.observe("a", {rank("1", 121)}, 330);
  const auto ended = book.observe("a", {}, 340);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].figures.seconds, 30);
  EXPECT_EQ(ended[0].figures.allotted, 120);
}

TEST(RunBook, ACounterThatBeganAnewIsComparedFromThere) {
  RunBook book;
  book.observe("a", {rank("1", 1000)}, 0);
  book.observe("a", {rank("1", 8)}, 30);
  book.observe("a", {rank("1", 108)}, 60);
  const auto ended = book.observe("a", {}, 60);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].figures.used, 100);
  EXPECT_EQ(ended[0].figures.seconds, 30);
}

TEST(RunBook, WhatIsNotCountedIsLeftOut) {
  RunBook book;
  ContainerUse counted = rank("1", 0);
  counted.misses = 0;
  counted.instructions = 0;
  counted.waits = 0;
  ContainerUse later = rank("1", 120);
  later.misses = 5e9;
  later.instructions = 1e11;
  later.waits = 700;
  book.observe("a", {counted, rank("2", 0)}, 0);
  book.observe("a", {later, rank("2", 120)}, 40);
  const auto ended = book.observe("a", {}, 40);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].figures.allotted, 320);
  EXPECT_EQ(ended[0].figures.counted, 160);
  EXPECT_EQ(ended[0].figures.misses, 5e9);
  EXPECT_EQ(ended[0].figures.instructions, 1e11);
  EXPECT_EQ(ended[0].figures.waits_counted, 160);
  EXPECT_EQ(ended[0].figures.waits, 700);
}

TEST(RunBook, AContainerThatStartsAgainEndsNoRun) {
  RunBook book;
  book.observe("a", {rank("1", 0)}, 0);
  book.observe("a", {rank("1", 120)}, 40);
  ContainerUse kept = rank("sandbox/rank", 0);
  kept.used_s.reset();
  EXPECT_TRUE(book.observe("a", {kept}, 41).empty());
  EXPECT_TRUE(book.observe("a", {rank("2", 0)}, 50).empty());
  book.observe("a", {rank("2", 160)}, 90);
  const auto ended = book.observe("a", {}, 91);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].figures.used, 280);
  EXPECT_EQ(ended[0].figures.seconds, 80);
}

TEST(RunBook, ANodeThatIsSilentForLongHasNoContainers) {
  RunBook book;
  book.observe("a", {rank("1", 0)}, 0);
  book.observe("a", {rank("1", 120)}, 40);
  EXPECT_TRUE(book.expire(40 + kNodeSilence).empty());
  const auto ended = book.expire(41 + kNodeSilence);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].figures.used, 120);
  EXPECT_EQ(book.runs(), 0U);
}

TEST(RunBook, ARunThatWasNotMeasuredIsNotTold) {
  RunBook book;
  ContainerUse unknown = rank("1", 0);
  unknown.used_s.reset();
  book.observe("a", {unknown}, 0);
  book.observe("a", {unknown}, 100);
  EXPECT_TRUE(book.observe("a", {}, 200).empty());
  EXPECT_EQ(book.runs(), 0U);
}

}  // namespace
}  // namespace pinion::cluster
