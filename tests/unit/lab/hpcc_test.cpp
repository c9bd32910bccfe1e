#include "tests/lab/hpcc.h"

#include <gtest/gtest.h>

#include <sstream>

namespace pinion::lab {
namespace {

// As hpcc 1.5.0 writes it with one rank, shortened: what stands before the summary, and lines of it
// that are not read.
std::string output_with(const std::string& summary) {
  return "########\nThis is the DARPA/DOE HPC Challenge Benchmark version 1.5.0\nHPL_Tflops=7\n"
         "Begin of Summary section.\nVersionMajor=1\nLANG=C\n" +
         summary + "CPS_USING_FFTW=0\nEnd of Summary section.\n########\n";
}

TEST(HpccOutput, ReadsTheSummaryOfOneRank) {
  const auto figures = parse_hpcc_output(
      output_with("Success=1\nHPL_Tflops=0.00181864\nHPL_time=1.23905\nStarDGEMM_Gflops=2.00263\n"
                  "SingleDGEMM_Gflops=1.9\nStarRandomAccess_LCG_GUPs=0.2\n"
                  "StarRandomAccess_GUPs=0.109527\nStarSTREAM_Triad=18.8237\n"
                  "RandomlyOrderedRingLatency_usec=-1\n"
                  "RandomlyOrderedRingBandwidth_GBytes=-1\n"));
  ASSERT_TRUE(figures.has_value()) << figures.error().text;
  EXPECT_DOUBLE_EQ(figures->hpl_gflops.value(), 1.81864);
  EXPECT_DOUBLE_EQ(figures->dgemm_gflops.value(), 2.00263);
  EXPECT_DOUBLE_EQ(figures->triad_gbytes.value(), 18.8237);
  EXPECT_DOUBLE_EQ(figures->random_mups.value(), 109.527);
  EXPECT_FALSE(figures->ring_latency_us.has_value());
  EXPECT_FALSE(figures->ring_bandwidth_gbytes.has_value());
}

TEST(HpccOutput, ReadsTheRingOfSeveralRanks) {
  const auto figures =
      parse_hpcc_output(output_with("Success=1\nRandomlyOrderedRingLatency_usec=0.83\n"
                                    "RandomlyOrderedRingBandwidth_GBytes=2.5\n"));
  ASSERT_TRUE(figures.has_value()) << figures.error().text;
  EXPECT_DOUBLE_EQ(figures->ring_latency_us.value(), 0.83);
  EXPECT_DOUBLE_EQ(figures->ring_bandwidth_gbytes.value(), 2.5);
  EXPECT_FALSE(figures->hpl_gflops.has_value());
}

struct BadOutput {
  std::string name;
  std::string text;
  std::string expected;  // a part of the error's text
};

class HpccOutputBad : public testing::TestWithParam<BadOutput> {};

TEST_P(HpccOutputBad, IsRefusedWithAReason) {
  const auto figures = parse_hpcc_output(GetParam().text);
  ASSERT_FALSE(figures.has_value());
  EXPECT_EQ(figures.error().code, Errc::kInvalid);
  EXPECT_NE(figures.error().text.find(GetParam().expected), std::string::npos)
      << figures.error().text;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HpccOutputBad,
    testing::Values(
        BadOutput{"Empty", "", "no summary"},
        BadOutput{"NoSummary", "HPL_Tflops=1\nSuccess=1\n", "no summary"},
        BadOutput{"CutOff", "Begin of Summary section.\nSuccess=1\nHPL_Tfl", "no end"},
        BadOutput{"EndBeforeBegin", "End of Summary section.\nBegin of Summary section.\n",
                  "no end"},
        BadOutput{"WrongResult", output_with("Success=0\n"), "is wrong"},
        BadOutput{"NoWordOfSuccess", output_with(""), "is wrong"},
        BadOutput{"NotANumber", output_with("Success=1\nHPL_Tflops=fast\n"),
                  "HPL_Tflops is 'fast'"},
        BadOutput{"NotFinite", output_with("Success=1\nStarSTREAM_Triad=inf\n"), "not a number"},
        BadOutput{"NothingBehindIt", output_with("Success=1\nStarDGEMM_Gflops=\n"), "not a number"},
        BadOutput{"MoreBehindIt", output_with("Success=1\nStarDGEMM_Gflops=2 3\n"),
                  "not a number"}),
    [](const auto& one) { return one.param.name; });

struct RecordCase {
  std::string name;
  std::string text;
  std::optional<RunRecord> expected;
};

class RunRecordCases : public testing::TestWithParam<RecordCase> {};

TEST_P(RunRecordCases, AreReadOrRefused) {
  const auto record = parse_run_record(GetParam().text);
  ASSERT_EQ(record.has_value(), GetParam().expected.has_value());
  if (!record) {
    EXPECT_EQ(record.error().code, Errc::kInvalid);
    return;
  }
  EXPECT_EQ(record->status, GetParam().expected->status);
  EXPECT_DOUBLE_EQ(record->seconds, GetParam().expected->seconds);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RunRecordCases,
    testing::Values(
        RecordCase{"Ended", "0 100.25 104.75\n", RunRecord{0, 4.5}},
        RecordCase{"Failed", "134 8 8\n", RunRecord{134, 0}}, RecordCase{"Empty", "", {}},
        RecordCase{"NoWholeLine", "0 1.5 2.5", {}}, RecordCase{"TooFew", "0 1.5\n", {}},
        RecordCase{"TooMany", "0 1.5 2.5 3.5\n", {}}, RecordCase{"TwoBlanks", "0  1.5 2.5\n", {}},
        RecordCase{"EndsBeforeItStarts", "0 2.5 1.5\n", {}},
        RecordCase{"NoStatus", "-1 1.5 2.5\n", {}},
        RecordCase{"StatusTooLarge", "256 1.5 2.5\n", {}}, RecordCase{"Words", "0 then now\n", {}}),
    [](const auto& one) { return one.param.name; });

TEST(HpccGrid, IsAsSquareAsItCanBe) {
  const std::pair<int, Grid> cases[] = {{1, {1, 1}},  {2, {1, 2}},  {4, {2, 2}},
                                        {6, {2, 3}},  {7, {1, 7}},  {8, {2, 4}},
                                        {12, {3, 4}}, {15, {3, 5}}, {16, {4, 4}}};
  for (const auto& [ranks, grid] : cases) {
    EXPECT_EQ(grid_of(ranks), grid) << ranks << " ranks";
  }
}

TEST(HpccOrder, GivesEachRankTheSameShareOfTheMatrix) {
  const double one = order_of(1);
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const double order = order_of(ranks);
    EXPECT_NEAR(order * order / ranks, one * one, 0.15 * one * one) << ranks << " ranks";
  }
}

// HPCC reads by line and takes the first words of each.
TEST(HpccInput, HasOrderAndGridInTheLinesThatHpccReads) {
  std::istringstream text(hpcc_input(2400, {.rows = 2, .columns = 3}));
  std::vector<std::string> first;
  for (std::string line; std::getline(text, line);) first.push_back(line.substr(0, line.find(' ')));
  ASSERT_EQ(first.size(), 36U);
  EXPECT_EQ(first[4], "1");
  EXPECT_EQ(first[5], "2400");
  EXPECT_EQ(first[10], "2");
  EXPECT_EQ(first[11], "3");
  EXPECT_EQ(first[32], "0");  // line 32 is a separator; PTRANS with the order of HPL only
  EXPECT_EQ(first[34], "0");
}

}  // namespace
}  // namespace pinion::lab
