#include "ctl/common/times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pinion::ctl {
namespace {

using testing::HasSubstr;

TEST(ParseTime, ReadsUnixSecondsAndRfc3339) {
  const std::pair<const char*, double> cases[] = {
      {"1767225600", 1767225600},
      {"1767225600.25", 1767225600.25},
      {"1970-01-01T00:00:00Z", 0},
      {"2026-01-01T00:00:00Z", 1767225600},
      {"2026-01-01T01:00:00+01:00", 1767225600},
      {"2025-12-31T18:30:00.5-05:30", 1767225600.5},
      {"2024-02-29T12:00:00Z", 1709208000},
      {"2000-03-01T00:00:00Z", 951868800},
  };
  for (const auto& [text, seconds] : cases) {
    const auto time = parse_time(text);
    ASSERT_TRUE(time) << text;
    EXPECT_DOUBLE_EQ(*time, seconds) << text;
  }
}

TEST(ParseTime, RefusesTheRest) {
  for (const char* text :
       {"", "now", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-32T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:00Zx", "2026-01-01 00:00:00Z", "-1-01-01T00:00:00Z",
        "2026--1-01T00:00:00Z", "2026-01-01T00:00:.5Z", "2026-01-01T00:00:00+1:00"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

TEST(ParsePart, SplitsAtTheInterval) {
  const auto whole = parse_part("dir@x/run.jsonl", PartTimes::kOffsets);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->name, "dir@x/run.jsonl");
  EXPECT_FALSE(whole->from);
  const auto both = parse_part("run@a@10..20.5", PartTimes::kOffsets);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->name, "run@a");
  EXPECT_DOUBLE_EQ(*both->from, 10);
  EXPECT_DOUBLE_EQ(*both->to, 20.5);
  const auto open_end = parse_part("run@10..", PartTimes::kOffsets);
  ASSERT_TRUE(open_end);
  EXPECT_DOUBLE_EQ(*open_end->from, 10);
  EXPECT_FALSE(open_end->to);
  const auto open_start = parse_part("run@..20", PartTimes::kOffsets);
  ASSERT_TRUE(open_start);
  EXPECT_FALSE(open_start->from);
  const auto points =
      parse_part("wind@2026-01-01T00:00:00Z..2026-01-01T00:00:10Z", PartTimes::kPoints);
  ASSERT_TRUE(points);
  EXPECT_EQ(points->name, "wind");
  EXPECT_DOUBLE_EQ(*points->to - *points->from, 10);
}

TEST(ParsePart, NamesWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "has no name"},
      {"@1..2", "has no name"},
      {"run@2..1", "ends before it begins"},
      {"run@1..1", "ends before it begins"},
      {"run@x..1", "'x' is no number of seconds"},
      {"run@1..-2", "'-2' is no number of seconds"},
      {"run@1..2..3", "'2..3' is no number of seconds"},
  };
  for (const auto& [text, message] : cases) {
    const auto part = parse_part(text, PartTimes::kOffsets);
    ASSERT_FALSE(part) << text;
    EXPECT_THAT(part.error().text, HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace pinion::ctl
