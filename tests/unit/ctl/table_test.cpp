#include "base/cli/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace pinion::ctl {
namespace {

struct FigureCase {
  std::string name;
  double value = 0;
  std::string text;
};

class FigureText : public testing::TestWithParam<FigureCase> {};

TEST_P(FigureText, IsShort) {
  EXPECT_EQ(figure_text(GetParam().value), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Values, FigureText,
    testing::Values(
        FigureCase{"zero", 0, "0"}, FigureCase{"tiny", 0.0001, "0.000"},
        FigureCase{"below_one", 0.0123, "0.012"}, FigureCase{"just_below_one", 0.9996, "1.00"},
        FigureCase{"units", 3.974, "3.97"}, FigureCase{"tens", 12.34, "12.3"},
        FigureCase{"rounds_up_to_ten", 9.996, "10.0"}, FigureCase{"hundreds", 123.4, "123"},
        FigureCase{"thousands", 4567, "4567"}, FigureCase{"with_suffix", 45210, "45.2k"},
        FigureCase{"million", 1.2e6, "1.20M"}, FigureCase{"rounds_to_million", 999700, "1.00M"},
        FigureCase{"huge", 5e12, "5.00T"}, FigureCase{"beyond", 3e16, "3.0e+16"},
        FigureCase{"negative", -45210, "-45.2k"},
        FigureCase{"infinite", std::numeric_limits<double>::infinity(), "-"},
        FigureCase{"no_number", std::numeric_limits<double>::quiet_NaN(), "-"}),
    [](const auto& one) { return one.param.name; });

TEST(Table, AlignsAndEndsLinesWithoutBlanks) {
  EXPECT_EQ(table({{"NAME", "N", "X"}, {"a", "100", ""}, {"long-name", "1", "y"}}, {1}),
            "NAME         N  X\n"
            "a          100\n"
            "long-name    1  y\n");
  EXPECT_EQ(table({}), "");
}

TEST(Plain, LeavesNothingThatMovesTheCursor) {
  EXPECT_EQ(plain("pod-1_x\x1b[2J\n\t\x7f\xc3\xa4~ "), "pod-1_x?[2J?????~ ");
}

TEST(Shortened, TakesTheMiddle) {
  EXPECT_EQ(shortened("default/solver-7/rank", 21), "default/solver-7/rank");
  EXPECT_EQ(shortened("default/solver-7/rank", 12), "defau../rank");
  EXPECT_EQ(shortened("default/solver-7/rank", 13), "defaul../rank");
  EXPECT_EQ(shortened("default", 3), "def");
  EXPECT_EQ(shortened("default", 0), "");
}

}  // namespace
}  // namespace pinion::ctl
