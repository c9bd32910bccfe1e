#include "cluster/sim/swf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cluster/sim/swf_source.h"
#include "tests/support/tree.h"

namespace pinion::sim {
namespace {

// A line of these fields, and the others unknown.
std::string line_of(std::string fields) {
  const auto words = std::count(fields.begin(), fields.end(), ' ') + 1;
  for (auto i = words; i < 18; ++i) fields += " -1";
  return fields;
}

std::optional<Job> job_in(std::string_view line) {
  bool skipped = false;
  auto job = parse_swf_line(line, skipped);
  EXPECT_TRUE(job) << job.error().text;
  return job ? *job : std::nullopt;
}

TEST(Swf, ReadsTheFieldsOfAJob) {
  const auto job = job_in("  7 100.5 -1 60 4 -1 -1 8 90 -1 1 12 3 1 1 1 -1 -1  ; a word");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->number, 7);
  EXPECT_EQ(job->submit, 100'500);
  EXPECT_EQ(job->run, 60'000);
  EXPECT_EQ(job->request, 90'000);
  EXPECT_EQ(job->processors(), 8);
  EXPECT_EQ(job->user, "12");
}

TEST(Swf, TakesWhatAJobGotAndTookForWhatItDidNotAsk) {
  const auto job = job_in("1 0 -1 60 4 -1 -1 -1 -1 -1 1 -1 1 1 1 1 -1 -1");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->processors(), 4);
  EXPECT_EQ(job->request, 60'000);
  EXPECT_EQ(job->user, "");
  // Nobody is killed: it asked for less than it took.
  EXPECT_EQ(job_in("1 0 -1 60 4 -1 -1 4 30 -1 1 1 1 1 1 1 -1 -1")->request, 60'000);
}

TEST(Swf, LeavesOutCommentsAndWhatNeverRan) {
  bool skipped = true;
  for (const char* line : {"", "   \t\r", "; MaxProcs: 128", ";1 2 3"}) {
    EXPECT_FALSE(*parse_swf_line(line, skipped)) << line;
    EXPECT_FALSE(skipped) << line;
  }
  for (const char* fields : {"1 0 -1 -1 4 -1 -1 4 30 -1 5", "1 0 -1 60 -1 -1 -1 0 30 -1 1",
                             "1 0 -1 60 4 -1 -1 4 30 -1 3", "1 -100 -1 60 4"}) {
    const std::string line = line_of(fields);
    EXPECT_FALSE(*parse_swf_line(line, skipped)) << line;
    EXPECT_TRUE(skipped) << line;
  }
}

TEST(Swf, RefusesWhatIsNoJob) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"1 0 -1", "3 fields, where 18 belong"},
      {"1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1", "17 fields, where 18 belong"},
      {line_of("1 0 -1 60 4.5"), "field 5 must be a whole number"},
      {line_of("1.5 0 -1 60 4"), "field 1 must be a whole number"},
      {"1 0 -1 sixty 4", "field 4 is 'sixty', which is no number"},
      {"1 0 -1 60x 4", "field 4 is '60x', which is no number"},
      {"1 nan -1 60 4", "field 2 is 'nan', which is no number"},
      {line_of("1 0 -1 1e12 4"), "field 4 is beyond 1e11"},
      {line_of("1 0 -1 60 1e8"), "a job of more than 10 million processors"},
      {"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19",
       "more than 18 fields, the first too many is '19'"},
      {std::string(5000, '1'), "a line of more than 4096 bytes"}};
  for (const auto& [line, text] : bad) {
    bool skipped = false;
    const auto job = parse_swf_line(line, skipped);
    ASSERT_FALSE(job) << line;
    EXPECT_EQ(job.error().text, text);
  }
}

std::string file_of(const test_support::TempDir& folder, const std::string& text) {
  const std::string path = folder.path() / "a.swf";
  std::ofstream(path) << text;
  return path;
}

TEST(Swf, AFileIsReadLineByLine) {
  const test_support::TempDir folder;
  SwfSource source;
  std::string trace = "; Version: 2.2\n\n";
  for (const char* job : {"1 0 -1 5 1", "2 3 -1 -1 1", "3 4 -1 5 2", "4 3 -1 5 2"}) {
    trace += line_of(job) + "\n";
  }
  ASSERT_TRUE(source.open(file_of(folder, trace)));
  EXPECT_EQ((*source.next())->number, 1);
  EXPECT_EQ((*source.next())->number, 3);
  EXPECT_EQ(source.skipped(), 1);
  EXPECT_GT(source.progress(), 0.5);
  const auto unsorted = source.next();
  ASSERT_FALSE(unsorted);
  EXPECT_THAT(unsorted.error().text, testing::HasSubstr("a.swf: line 6: submitted before"));
}

TEST(Swf, TheLastLineNeedsNoEnd) {
  const test_support::TempDir folder;
  SwfSource source;
  ASSERT_TRUE(source.open(file_of(folder, line_of("1 0 -1 5 1"))));
  EXPECT_EQ((*source.next())->number, 1);
  EXPECT_FALSE(*source.next());
}

TEST(Swf, AFileThatIsNoTextIsRefused) {
  const test_support::TempDir folder;
  SwfSource source;
  ASSERT_TRUE(source.open(file_of(folder, std::string(10'000, ' '))));
  const auto job = source.next();
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().text, testing::HasSubstr("line 1: more than 4096 bytes"));
  SwfSource binary;
  ASSERT_TRUE(binary.open(file_of(folder, std::string("1 0 -1 5 1\0 2\n", 13))));
  EXPECT_FALSE(binary.next());
  SwfSource missing;
  EXPECT_FALSE(missing.open(folder.path() / "missing.swf"));
}

}  // namespace
}  // namespace pinion::sim
