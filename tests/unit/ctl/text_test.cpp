#include "ctl/common/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinion::ctl {
namespace {

TEST(HumanBytes, RoundsToTheUnitThatFits) {
  struct Case {
    topology::Bytes bytes;
    std::string text;
  };
  const std::vector<Case> cases = {
      {0, "0"},
      {1, "1 KiB"},
      {1024, "1 KiB"},
      {1280 * 1024, "1 MiB"},
      {1023ULL << 20, "1023 MiB"},
      {1ULL << 30, "1.0 GiB"},
      {3ULL << 29, "1.5 GiB"},
      {1ULL << 40, "1024.0 GiB"},
      {~0ULL, "17179869184.0 GiB"},
  };
  for (const Case& one : cases) EXPECT_EQ(human_bytes(one.bytes), one.text) << one.bytes;
}

TEST(Flow, BreaksBetweenWordsBelowTheFirst) {
  EXPECT_EQ(flow("head ", {"a", "b"}), "head a b\n");
  EXPECT_EQ(flow("head ", {}), "head\n");
  const std::string word(40, 'w');
  EXPECT_EQ(flow("head  ", {word, word, word}),
            "head  " + word + " " + word + "\n      " + word + "\n");
}

TEST(Flow, FillsTheLineToItsLastColumn) {
  const std::string half(48, 'h');
  EXPECT_EQ(flow("123", {half, half}), "123" + half + " " + half + "\n") << "100 columns";
  EXPECT_EQ(flow("1234", {half, half}), "1234" + half + "\n    " + half + "\n") << "101 columns";
  const std::string endless(200, 'e');
  EXPECT_EQ(flow("> ", {endless, "x"}), "> " + endless + "\n  x\n") << "a word is never cut";
}

TEST(Grid, MakesRowsOfEqualLength) {
  EXPECT_EQ(grid("x ", {}), "x \n");
  EXPECT_EQ(grid("x ", {"[0]", "[1]"}), "x [0] [1]\n");
  const std::vector<std::string> cells(8, std::string(16, 'c'));  // five would fit
  const std::string row = cells[0] + " " + cells[0] + " " + cells[0] + " " + cells[0];
  EXPECT_EQ(grid("head ", cells), "head " + row + "\n     " + row + "\n");
}

TEST(Grid, FillsTheLineToItsLastColumn) {
  const std::vector<std::string> two(2, std::string(48, 'c'));
  EXPECT_EQ(grid("123", two), "123" + two[0] + " " + two[0] + "\n");
  EXPECT_EQ(grid("1234", two), "1234" + two[0] + "\n    " + two[0] + "\n");
  const std::vector<std::string> wide(2, std::string(150, 'c'));
  EXPECT_EQ(grid("> ", wide), "> " + wide[0] + "\n  " + wide[0] + "\n");
}

}  // namespace
}  // namespace pinion::ctl
