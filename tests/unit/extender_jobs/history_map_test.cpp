#include "cluster/extender/profiles/history_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::cluster::profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ProfileHistory all_figures() {
  return {.runs = 3,
          .last_unix_s = 1'795'132'800,
          .used = {.value = 0.97, .seconds = 1800},
          .misses = {.value = 2.1e7, .seconds = 900.5},
          .per_kilo = {.value = 21.5, .seconds = 900.5},
          .waits = {.value = 0, .seconds = 1800}};
}

TEST(HistoryMap, IsReadAsItWasWritten) {
  const Histories histories{{"hpc/wave", {.runs = 1}}, {"hpc/wind", all_figures()}};
  const auto read = read_histories(to_text(histories));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->histories, histories);
  EXPECT_EQ(read->ignored, 0U);
}

TEST(HistoryMap, HasALineForEachJob) {
  EXPECT_EQ(to_text({{"hpc/wave", {.runs = 1}}, {"hpc/wind", all_figures()}}),
            "{\n"
            "\"hpc/wave\": {\"runs\":1,\"lastUnix\":0},\n"
            "\"hpc/wind\": {\"runs\":3,\"lastUnix\":1795132800,"
            "\"used\":{\"value\":0.97,\"seconds\":1800},"
            "\"missesPerCpuSecond\":{\"value\":2.1e+07,\"seconds\":900.5},"
            "\"missesPerKiloInstruction\":{\"value\":21.5,\"seconds\":900.5},"
            "\"waitsPerCpuSecond\":{\"value\":0,\"seconds\":1800}}\n"
            "}\n");
  EXPECT_EQ(to_text({}), "{\n}\n");
}

struct WrongEntry {
  const char* name;
  const char* entry;
  const char* why;
};
class HistoryMapIgnores : public testing::TestWithParam<WrongEntry> {};

TEST_P(HistoryMapIgnores, AnEntryThatMakesNoSense) {
  const std::string good = R"("hpc/wind":{"runs":1,"lastUnix":5})";
  const auto read = read_histories("{" + std::string(GetParam().entry) + "," + good + "}");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->histories.size(), 1U);
  EXPECT_EQ(read->histories.count("hpc/wind"), 1U);
  EXPECT_EQ(read->ignored, 1U);
  EXPECT_THAT(read->samples, ElementsAre(HasSubstr(GetParam().why)));
}

const WrongEntry kWrongEntries[] = {
    {"NoSlash", R"("wind":{"runs":1,"lastUnix":5})", "'wind': not NAMESPACE/JOB"},
    {"TwoSlashes", R"("a/b/c":{"runs":1,"lastUnix":5})", "not NAMESPACE/JOB"},
    {"Escapes", R"("a/\u001b[2J":{"runs":1,"lastUnix":5})", "not NAMESPACE/JOB"},
    {"NoObject", R"("a/b":7)", "'a/b': not an object"},
    {"NoRuns", R"("a/b":{"lastUnix":5})", "runs: not a number"},
    {"RunsOfNone", R"("a/b":{"runs":0,"lastUnix":5})", "runs: not a number"},
    {"ManyRuns", R"("a/b":{"runs":1e300,"lastUnix":5})", "runs: not a number"},
    {"TextTime", R"("a/b":{"runs":1,"lastUnix":"today"})", "lastUnix: not a time"},
    {"NegativeTime", R"("a/b":{"runs":1,"lastUnix":-1})", "lastUnix: not a time"},
    {"LargeShare", R"("a/b":{"runs":1,"lastUnix":5,"used":{"value":1.1,"seconds":9}})",
     "used.value"},
    {"NoSeconds", R"("a/b":{"runs":1,"lastUnix":5,"missesPerCpuSecond":{"value":1}})",
     "missesPerCpuSecond.seconds"},
    {"LargeWeight", R"("a/b":{"runs":1,"lastUnix":5,"used":{"value":1,"seconds":1801}})",
     "used.seconds"},
    {"FigureAsNumber", R"("a/b":{"runs":1,"lastUnix":5,"waitsPerCpuSecond":3})",
     "waitsPerCpuSecond: not an object"},
};
INSTANTIATE_TEST_SUITE_P(Cases, HistoryMapIgnores, testing::ValuesIn(kWrongEntries),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(HistoryMap, OtherFieldsAreNotLookedAt) {
  const auto read = read_histories(R"({"a/b":{"runs":1,"lastUnix":5,"note":"mine"}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->histories.size(), 1U);
}

TEST(HistoryMap, WhatIsNoObjectIsAnError) {
  for (const char* text : {"", "7", "[]", "{", R"({"a/b":1e999})", "\xFF\xFE"}) {
    EXPECT_FALSE(read_histories(text)) << text;
  }
  EXPECT_FALSE(read_histories(std::string(1 << 16, '[')));
}

TEST(HistoryMap, TheOldestOfTheLargestNamespaceGoFirst) {
  Histories histories{{"small/old", {.runs = 1, .last_unix_s = 1}}};
  for (std::size_t i = 0; i < kMostJobs + 5; ++i) {
    histories["large/" + std::to_string(i)] = {.runs = 1,
                                               .last_unix_s = 100 + static_cast<std::int64_t>(i)};
  }
  drop_oldest(histories);
  EXPECT_EQ(histories.size(), kMostJobs);
  EXPECT_TRUE(histories.contains("small/old"));
  EXPECT_FALSE(histories.contains("large/5"));
  EXPECT_TRUE(histories.contains("large/6"));
}

TEST(HistoryMap, StaysFarBelowWhatTheApiServerTakes) {
  Histories histories;
  const MeanFigure longest{.value = 0.999999e-99, .seconds = 1234.56};
  for (std::size_t i = 0; i < kMostJobs; ++i) {
    std::string job = std::to_string(i);
    job.insert(0, 253 - job.size(), 'j');
    histories[std::string(63, 'n') + "/" + job] = {.runs = kMostRuns,
                                                   .last_unix_s = kLastSecond,
                                                   .used = longest,
                                                   .misses = longest,
                                                   .per_kilo = longest,
                                                   .waits = longest};
  }
  const std::string text = to_text(histories);
  EXPECT_LT(text.size(), kMostJobs * 620);
  const auto read = read_histories(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->histories.size(), kMostJobs);
  EXPECT_THAT(read->samples, IsEmpty());
}

}  // namespace
}  // namespace pinion::cluster::profiles
