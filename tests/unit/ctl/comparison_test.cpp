// The chances are counted by hand: so many of all ways to deal the ranks are as uneven.
#include "ctl/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace pinion::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

TEST(SummaryOf, HasQuartilesBetweenNeighbours) {
  const auto four = summary_of({4, 1, 3, 2});
  ASSERT_TRUE(four);
  EXPECT_EQ(four->count, 4U);
  EXPECT_DOUBLE_EQ(four->median, 2.5);
  EXPECT_DOUBLE_EQ(four->low, 1.75);
  EXPECT_DOUBLE_EQ(four->high, 3.25);
  const auto one = summary_of({kNoNumber, 5});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->count, 1U);
  EXPECT_DOUBLE_EQ(one->low, 5);
  EXPECT_DOUBLE_EQ(one->high, 5);
  EXPECT_FALSE(summary_of({}));
  EXPECT_FALSE(summary_of({kNoNumber}));
}

struct Case {
  std::string name;
  std::vector<double> a;
  std::vector<double> b;
  double chance = 1;
  Verdict verdict = Verdict::kNoDifference;
};

class RankSum : public testing::TestWithParam<Case> {};

TEST_P(RankSum, IsAsCountedByHand) {
  const Measure measure{"x", "", GetParam().a, GetParam().b};
  EXPECT_NEAR(chance_of(measure), GetParam().chance, 1e-12);
  EXPECT_EQ(verdict_of(measure), GetParam().verdict) << to_string(verdict_of(measure));
}

TEST_P(RankSum, IsTheSameTheOtherWayRound) {
  const Measure measure{"x", "", GetParam().b, GetParam().a};
  EXPECT_NEAR(chance_of(measure), GetParam().chance, 1e-12);
  Verdict expected = GetParam().verdict;
  if (GetParam().verdict == Verdict::kLess) expected = Verdict::kMore;
  if (GetParam().verdict == Verdict::kMore) expected = Verdict::kLess;
  EXPECT_EQ(verdict_of(measure), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RankSum,
    testing::Values(
        Case{"three_each_are_too_few", {1, 2, 3}, {4, 5, 6}, 2.0 / 20, Verdict::kTooFew},
        Case{"four_each_apart", {1, 2, 3, 4}, {5, 6, 7, 8}, 2.0 / 70, Verdict::kMore},
        Case{"four_each_apart_downwards", {9, 8, 7, 6}, {1, 2, 3, 4}, 2.0 / 70, Verdict::kLess},
        // One exchange away from apart, at either end: 1 + 1 ways on each side.
        Case{"four_each_with_one_exchange", {1, 2, 3, 5}, {4, 6, 7, 8}, 4.0 / 70},
        Case{"five_each_with_one_exchange",
             {1, 2, 3, 4, 6},
             {5, 7, 8, 9, 10},
             4.0 / 252,
             Verdict::kMore},
        Case{"all_equal", {7, 7, 7, 7}, {7, 7, 7, 7}, 1},
        // Every deal of one odd value among seven equal ones is as uneven.
        Case{"one_odd_value", {0, 0, 0, 0}, {0, 0, 0, 9}, 1},
        Case{"zeros_against_ones", {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, 2.0 / 252, Verdict::kMore},
        // Ranks 1 2 3.5 3.5 5 6 7 8; A has 1 2 3.5 3.5 = 10. As far from 18: 10 and 26, one way
        // each.
        Case{"a_tie_within_a_side", {1, 2, 3, 3}, {4, 5, 6, 7}, 2.0 / 70, Verdict::kMore},
        // Ranks 1 2 3 4.5 4.5 6 7 8; A has 1 2 3 4.5 = 10.5, two ways; 25.5 two ways.
        Case{"a_tie_across_the_sides", {1, 2, 3, 4}, {4, 5, 6, 7}, 4.0 / 70},
        Case{"one_against_many", {1}, {2, 3, 4, 5, 6}, 2.0 / 6, Verdict::kTooFew},
        Case{"nothing_against_something", {}, {2, 3, 4, 5, 6}, 1, Verdict::kTooFew},
        Case{"no_numbers_do_not_count",
             {1, 2, 3, 4, kNoNumber},
             {5, 6, 7, 8, kNoNumber},
             2.0 / 70,
             Verdict::kMore}),
    [](const auto& one) { return one.param.name; });

std::vector<double> every_second(int from, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(from + 2 * i);
  return values;
}

TEST(RankSumOfMany, IsApproximatelyNormal) {
  // Ranks 1, 3 .. 51: their sum 676 is 13 below the middle; variance 26 * 26 * 53 / 12.
  const Measure measure{"x", "", every_second(1, 26), every_second(2, 26)};
  EXPECT_NEAR(chance_of(measure), std::erfc(12.5 / std::sqrt(2 * 26 * 26 * 53 / 12.0)), 1e-12);
  EXPECT_EQ(verdict_of(measure), Verdict::kNoDifference);
  const Measure apart{"x", "", every_second(1, 30), every_second(101, 30)};
  EXPECT_LT(chance_of(apart), 1e-9);
  EXPECT_EQ(verdict_of(apart), Verdict::kMore);
  EXPECT_DOUBLE_EQ(chance_of({"x", "", std::vector<double>(40, 1), std::vector<double>(40, 1)}), 1);
}

TEST(RankSumOfMany, AgreesWithTheExactOneWhereBothAreUsed) {
  const Measure exact{"x", "", every_second(0, 25), every_second(9, 25)};
  const Measure approximate{"x", "", every_second(0, 26), every_second(9, 26)};
  EXPECT_NEAR(chance_of(exact), chance_of(approximate), 0.02);
}

TEST(ChangePercent, IsOfTheMedians) {
  EXPECT_DOUBLE_EQ(*change_percent({"x", "", {4}, {5}}), 25);
  EXPECT_DOUBLE_EQ(*change_percent({"x", "", {-4}, {-5}}), -25);
  EXPECT_FALSE(change_percent({"x", "", {0, 0, 1}, {5}}));
  EXPECT_FALSE(change_percent({"x", "", {}, {5}}));
}

Comparison sample() {
  return {"pinned",
          "unpinned",
          {{"run time", "s", {10.1, 10.2, 10.0, 10.1, 10.3}, {13.0, 14.2, 12.8, 13.5, 15.0}},
           {"migrations", "", {0, 0, 0, 0, 0}, {310, 290, 402, 288, 350}},
           {"page faults", "1/s", {51, 48, 50, 55, 47}, {49, 52, 50, 46, 54}},
           {"L3 misses", "1/s", {}, {}},
           {"intrusion", "%", {0.1, 0.2, 0.1}, {}}}};
}

TEST(ComparisonTable, IsReadable) {
  EXPECT_EQ(
      comparison_table(sample()),
      "A: pinned\n"
      "B: unpinned\n"
      "\n"
      "MEASURE                A       QUARTILES     B     QUARTILES  CHANGE  VALUES  VERDICT\n"
      "run time [s]        10.1    10.1 .. 10.2  13.5  13.0 .. 14.2   +34 %     5+5  B is more\n"
      "migrations             0          0 .. 0   310    290 .. 350       -     5+5  B is more\n"
      "page faults [1/s]   50.0    48.0 .. 51.0  50.0  49.0 .. 52.0  +0.0 %     5+5  no "
      "difference to be seen\n"
      "intrusion [%]      0.100  0.100 .. 0.150     -             -       -     3+0  too few "
      "values\n"
      "\n"
      "Medians and quartiles. Less and more: a two-sided rank-sum test leaves less than 5 %\n"
      "to chance.\n");
}

TEST(ComparisonTable, OfNothingSaysSo) {
  EXPECT_EQ(comparison_table({"a", "b", {{"x", "", {}, {}}}}),
            "A: a\nB: b\n\nnothing was measured on either side\n");
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ComparisonSvg, DrawsADotForEachValue) {
  const std::string svg = comparison_svg(sample());
  EXPECT_EQ(count_of(svg, "<circle"), 33U);
  EXPECT_EQ(count_of(svg, "<rect"), 7U);
  EXPECT_EQ(count_of(svg, "not measured"), 1U);
  EXPECT_THAT(svg, HasSubstr(">run time [s]</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("L3 misses")));
  EXPECT_EQ(svg.rfind("<svg xmlns=", 0), 0U);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(ComparisonSvg, IsNoPlaceForForeignMarkup) {
  const std::string svg =
      comparison_svg({"<script>&", "b\n", {{"a\"<b>", "&", {1, -1}, {kNoNumber}}}});
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("A: &lt;script&gt;&amp;, B: b?"));
  EXPECT_THAT(svg, HasSubstr("a\"&lt;b&gt; [&amp;]"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(ComparisonSvg, DrawsNoMoreThanCanBeSeen) {
  const std::string svg =
      comparison_svg({"a", "b", {{"x", "", std::vector<double>(100000, 1), {2}}}});
  EXPECT_LT(svg.size(), 40000U);
}

}  // namespace
}  // namespace pinion::ctl
