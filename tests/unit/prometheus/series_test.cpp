// The table against Prometheus's rules of naming, so that they hold for series that no test happens
// to produce.
#include "metrics/prometheus/series.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <set>
#include <string>

namespace pinion::prometheus {
namespace {

class EachSeries : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Series& one() { return series(static_cast<Metric>(GetParam())); }
  [[nodiscard]] static bool ends_with(std::string_view end) { return one().name.ends_with(end); }
};

TEST_P(EachSeries, HasALegalNameOfOurs) {
  EXPECT_TRUE(RE2::FullMatch(std::string(one().name), "pinion(_[a-z0-9]+)+"));
}

TEST_P(EachSeries, EndsAsItsTypeAsks) {
  EXPECT_EQ(ends_with("_total"), one().type == Type::kCounter);
  EXPECT_EQ(ends_with("_info"), one().type == Type::kInfo);
  for (const char* reserved : {"_bucket", "_count", "_sum", "_created"}) {
    EXPECT_FALSE(family_name(one()).ends_with(reserved));
  }
}

TEST_P(EachSeries, SaysItsUnitInTheNameWhereThatIsABaseUnit) {
  for (const char* unit : {"seconds", "bytes", "ratio"}) {
    const std::string end = std::string("_") + unit;
    EXPECT_EQ(family_name(one()).ends_with(end), one().unit == unit);
  }
  EXPECT_EQ(one().unit.empty(), one().type == Type::kInfo);
}

TEST_P(EachSeries, IsExplained) {
  EXPECT_TRUE(one().help.ends_with("."));
  EXPECT_EQ(one().help.find('\n'), std::string_view::npos);
  EXPECT_FALSE(one().source.empty());
  EXPECT_FALSE(to_string(one().cost).empty());
  // They stand in a table of Markdown.
  for (const std::string_view text : {one().help, one().source, one().labels}) {
    EXPECT_EQ(text.find('|'), std::string_view::npos);
  }
}

TEST_P(EachSeries, SaysThatItIsOfContainersInItsName) {
  EXPECT_EQ(one().labels.starts_with("*"), one().name.starts_with("pinion_container_"));
}

INSTANTIATE_TEST_SUITE_P(Table, EachSeries, testing::Range(std::size_t{0}, kMetrics),
                         [](const auto& one) {
                           return std::string(series(static_cast<Metric>(one.param)).name);
                         });

TEST(Series, NoTwoFamiliesHaveTheSameName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    EXPECT_TRUE(names.insert(family_name(series(static_cast<Metric>(i)))).second);
  }
}

}  // namespace
}  // namespace pinion::prometheus
