#include "topology/cpuset.h"

#include <gtest/gtest.h>

#include <vector>

namespace pinion::topology {
namespace {

struct Good {
  const char* name;
  std::string text;
  CpuSet want;
  std::string again;  // how to_string writes it
};

const std::vector<Good>& good_lists() {
  static const std::vector<Good> cases = {
      {"empty", "", {}, ""},
      {"newline alone", "\n", {}, ""},
      {"one", "0", {0}, "0"},
      {"range", "0-3", {0, 1, 2, 3}, "0-3"},
      {"range of one", "5-5", {5}, "5"},
      {"mixed", "0-3,8,10-11", {0, 1, 2, 3, 8, 10, 11}, "0-3,8,10-11"},
      {"as the kernel ends it", "0-1,4\n", {0, 1, 4}, "0-1,4"},
      {"blanks around", " \t2,3 ", {2, 3}, "2-3"},
      {"unordered", "9,1,3-4", {1, 3, 4, 9}, "1,3-4,9"},
      {"overlapping", "1-3,2-5,3", {1, 2, 3, 4, 5}, "1-5"},
      {"adjacent ranges join", "0-1,2-3", {0, 1, 2, 3}, "0-3"},
      {"word border", "63-64", {63, 64}, "63-64"},
      {"stride", "0-8:2/4", {0, 1, 4, 5, 8}, "0-1,4-5,8"},
      {"stride longer than the range", "0-1:3/8", {0, 1}, "0-1"},
      {"last id", "4095", {4095}, "4095"},
      {"leading zeros", "007", {7}, "7"},
  };
  return cases;
}

TEST(CpuSetText, ReadsTheKernelsLists) {
  for (const Good& c : good_lists()) {
    SCOPED_TRACE(c.name);
    const auto got = CpuSet::parse(c.text);
    ASSERT_TRUE(got) << got.error().text;
    EXPECT_EQ(*got, c.want);
    EXPECT_EQ(got->to_string(), c.again);
    EXPECT_EQ(CpuSet::parse(c.again).value(), *got);
  }
}

TEST(CpuSetText, RefusesEverythingElse) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"word", "all"},
      {"comma first", ",1"},
      {"comma last", "1,"},
      {"two commas", "1,,2"},
      {"range without end", "1-"},
      {"range without start", "-1"},
      {"negative end", "1--2"},
      {"backwards", "3-1"},
      {"blank inside", "1, 2"},
      {"newline inside", "1\n2"},
      {"above the largest", "4096"},
      {"range beyond the largest", "4000-5000"},
      {"overflow", "99999999999999999999"},
      {"overflow in a range", "0-99999999999999999999"},
      {"plus sign", "+1"},
      {"hexadecimal", "0x1"},
      {"stride on one id", "3:1/2"},
      {"stride of nothing", "0-3:0/2"},
      {"stride larger than its group", "0-3:3/2"},
      {"stride without group", "0-3:2"},
      {"stride group missing", "0-3:2/"},
      {"stride group zero", "0-3:1/0"},
      {"trailing text", "0-3x"},
      {"zero byte", "1\0"},
  };
  for (const auto& [name, text] : cases) {
    SCOPED_TRACE(name);
    if (std::string_view(name) == "zero byte") {
      EXPECT_FALSE(CpuSet::parse(std::string_view(text, 2)));
      continue;
    }
    const auto got = CpuSet::parse(text);
    ASSERT_FALSE(got) << got->to_string();
    EXPECT_EQ(got.error().code, Errc::kInvalid);
    EXPECT_FALSE(got.error().text.empty());
  }
}

TEST(CpuSetText, TheErrorQuotesTheListAndTheOffendingPart) {
  const auto got = CpuSet::parse("0-3,banana,7");
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().text.find("'banana'"), std::string::npos) << got.error().text;
  const auto open = CpuSet::parse("0,1,");
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().text.find(": '0,1,' at ''"), std::string::npos) << open.error().text;
  const auto large = CpuSet::parse("0-4096");
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().text.find("4096"), std::string::npos) << large.error().text;
}

TEST(CpuSet, HoldsItsWholeCapacity) {
  const CpuSet all = CpuSet::range(0, CpuSet::kCapacity - 1);
  EXPECT_EQ(all.count(), 4096);
  EXPECT_EQ(all.to_string(), "0-4095");
  EXPECT_EQ(NodeSet::range(0, NodeSet::kCapacity - 1).to_string(), "0-1023");
}

TEST(CpuSet, IdsOutsideTheCapacityAreNoMembers) {
  CpuSet set = {0};
  EXPECT_FALSE(set.contains(-1));
  EXPECT_FALSE(set.contains(4096));
  set.remove(-1);
  set.remove(4096);
  EXPECT_EQ(set, CpuSet{0});
  EXPECT_EQ(set.next(4096), -1);
  EXPECT_EQ(set.next(-5), 0);
}

TEST(CpuSet, Algebra) {
  const CpuSet a = {1, 2, 3, 200};
  const CpuSet b = {2, 3, 4, 3000};
  EXPECT_EQ(a | b, (CpuSet{1, 2, 3, 4, 200, 3000}));
  EXPECT_EQ(b | a, a | b);
  EXPECT_EQ(a & b, (CpuSet{2, 3}));
  EXPECT_EQ(b & a, a & b);
  EXPECT_EQ(a - b, (CpuSet{1, 200}));
  EXPECT_EQ(b - a, (CpuSet{4, 3000}));
  EXPECT_EQ(a.count_common(b), 2);
  EXPECT_TRUE(a.intersects(b));
  EXPECT_FALSE(a.intersects(CpuSet{0, 4, 3000}));
  EXPECT_TRUE((CpuSet{2, 200}.is_subset_of(a)));
  EXPECT_FALSE((CpuSet{2, 3000}.is_subset_of(a)));
  EXPECT_TRUE(CpuSet().is_subset_of(a));
  EXPECT_FALSE(a.is_subset_of(CpuSet()));
}

TEST(CpuSet, EqualWhateverItOnceHeld) {
  CpuSet set = {1, 4000};
  set.remove(4000);
  EXPECT_EQ(set, CpuSet{1});
  EXPECT_EQ(CpuSet{1}, set);
  set.remove(1);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set, CpuSet());
}

TEST(CpuSet, IteratesAscending) {
  const CpuSet set = {4095, 0, 63, 64, 128};
  EXPECT_EQ(std::vector<int>(set.begin(), set.end()), (std::vector<int>{0, 63, 64, 128, 4095}));
  const CpuSet empty;
  EXPECT_TRUE(empty.begin() == empty.end());
  EXPECT_EQ(empty.first(), -1);
}

TEST(CpuSet, LowestTakesAtMostWhatThereIs) {
  const CpuSet set = {7, 70, 700};
  EXPECT_EQ(set.lowest(0), CpuSet());
  EXPECT_EQ(set.lowest(2), (CpuSet{7, 70}));
  EXPECT_EQ(set.lowest(9), set);
  EXPECT_EQ(set.lowest(-1), CpuSet());
}

}  // namespace
}  // namespace pinion::topology
