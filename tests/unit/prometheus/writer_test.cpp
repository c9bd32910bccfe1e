#include "metrics/prometheus/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace pinion::prometheus {
namespace {

constexpr Series named(std::string_view name, Type type, std::string_view unit) {
  Series series;
  series.name = name;
  series.type = type;
  series.unit = unit;
  series.help = "Help.";
  return series;
}

constexpr Series kCounterSeries = named("x_bytes_total", Type::kCounter, "bytes");
constexpr Series kGaugeSeries = named("x_things", Type::kGauge, "pieces");
constexpr Series kInfoSeries = named("x_info", Type::kInfo, "");
constexpr Series kHistogramSeries = named("x_seconds", Type::kHistogram, "seconds");

struct LabelCase {
  const char* name;
  std::string value;
  std::string expected;
};

class LabelText : public testing::TestWithParam<LabelCase> {};

TEST_P(LabelText, IsFitForPrometheus) {
  EXPECT_EQ((Labels{{"a", GetParam().value}}).text(), "a=\"" + GetParam().expected + "\"");
}

const std::string kBad = "\xEF\xBF\xBD";

INSTANTIATE_TEST_SUITE_P(
    Values, LabelText,
    testing::Values(
        LabelCase{"empty", "", ""}, LabelCase{"plain", "rank-0.x_Y 9", "rank-0.x_Y 9"},
        LabelCase{"backslash", R"(a\b\)", R"(a\\b\\)"}, LabelCase{"quote", "\"a\"", "\\\"a\\\""},
        LabelCase{"newline", "a\nb\n", "a\\nb\\n"}, LabelCase{"tab_stays", "a\tb", "a\tb"},
        LabelCase{"braces_and_commas_stay", "{a=\"b\",}", "{a=\\\"b\\\",}"},
        LabelCase{"carriage_return", "a\rb", "a" + kBad + "b"},
        LabelCase{"nul", std::string("a\0b", 3), "a" + kBad + "b"},
        LabelCase{"delete", "a\x7F", "a" + kBad}, LabelCase{"two_bytes", "ä", "ä"},
        LabelCase{"three_bytes", "€", "€"}, LabelCase{"four_bytes", "😀", "😀"},
        LabelCase{"lone_continuation", "a\x80z", "a" + kBad + "z"},
        LabelCase{"lead_without_rest", "a\xC3", "a" + kBad},
        LabelCase{"lead_before_ascii", "\xE2z", kBad + "z"},
        LabelCase{"overlong_slash", "\xC0\xAF", kBad + kBad},
        LabelCase{"overlong_three", "\xE0\x80\xAF", kBad + kBad + kBad},
        LabelCase{"surrogate", "\xED\xA0\x80", kBad + kBad + kBad},
        LabelCase{"last_before_surrogates", "\xED\x9F\xBF", "\xED\x9F\xBF"},
        LabelCase{"above_unicode", "\xF4\x90\x80\x80", kBad + kBad + kBad + kBad},
        LabelCase{"last_of_unicode", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
        LabelCase{"no_such_lead", "\xFF\xFE", kBad + kBad},
        LabelCase{"longest", std::string(kMaxLabelValue, 'x'), std::string(kMaxLabelValue, 'x')},
        LabelCase{"too_long", std::string(kMaxLabelValue + 1, 'x'),
                  std::string(kMaxLabelValue, 'x')},
        LabelCase{"not_cut_in_a_character", std::string(kMaxLabelValue - 1, 'x') + "ä",
                  std::string(kMaxLabelValue - 1, 'x')}),
    [](const auto& one) { return one.param.name; });

struct ValueCase {
  const char* name;
  double value;
  const char* expected;
};

class ValueText : public testing::TestWithParam<ValueCase> {};

TEST_P(ValueText, IsShortestThatReadsBackTheSame) {
  Writer writer(Format::kText);
  writer.family(kGaugeSeries);
  writer.sample({}, GetParam().value);
  const std::string text = writer.finish();
  const std::string value = text.substr(text.rfind(' ') + 1);
  EXPECT_EQ(value, std::string(GetParam().expected) + "\n");
  if (std::isfinite(GetParam().value)) {
    EXPECT_EQ(std::stod(value), GetParam().value);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Values, ValueText,
    testing::Values(ValueCase{"zero", 0.0, "0"}, ValueCase{"tenth", 0.1, "0.1"},
                    ValueCase{"nanosecond", 1e-9, "1e-09"},
                    ValueCase{"third", 1.0 / 3, "0.3333333333333333"},
                    ValueCase{"negative", -2.5, "-2.5"},
                    ValueCase{"seconds_of_days", 864000.123456789, "864000.123456789"},
                    ValueCase{"largest", 1.7976931348623157e308, "1.7976931348623157e+308"},
                    ValueCase{"infinite", std::numeric_limits<double>::infinity(), "+Inf"},
                    ValueCase{"minus_infinite", -std::numeric_limits<double>::infinity(), "-Inf"},
                    ValueCase{"no_number", std::nan(""), "NaN"}),
    [](const auto& one) { return one.param.name; });

TEST(Writer, IntegersAreExactAboveTwoToThe53) {
  Writer writer(Format::kText);
  writer.family(kGaugeSeries);
  writer.sample({}, std::uint64_t{18446744073709551615U});
  EXPECT_EQ(writer.finish(),
            "# HELP x_things Help.\n# TYPE x_things gauge\nx_things 18446744073709551615\n");
}

std::string counter_and_info(Format format) {
  Writer writer(format);
  writer.family(kCounterSeries);
  writer.sample({{"a", "1"}}, {{"b", "2"}}, std::uint64_t{3});
  writer.sample({}, {{"b", "2"}, {"c", "3"}}, std::uint64_t{4});
  writer.sample({{"a", "1"}}, std::uint64_t{5});
  writer.family(kGaugeSeries);  // leaves nothing
  writer.family(kInfoSeries);
  writer.sample({{"a", "1"}}, std::uint64_t{1});
  return writer.finish();
}

TEST(Writer, TextFormatNamesSamplesAndHasNoInfo) {
  EXPECT_EQ(counter_and_info(Format::kText),
            "# HELP x_bytes_total Help.\n# TYPE x_bytes_total counter\n"
            "x_bytes_total{a=\"1\",b=\"2\"} 3\nx_bytes_total{b=\"2\",c=\"3\"} 4\n"
            "x_bytes_total{a=\"1\"} 5\n"
            "# HELP x_info Help.\n# TYPE x_info gauge\nx_info{a=\"1\"} 1\n");
}

TEST(Writer, OpenMetricsNamesFamiliesAndUnitsAndEnds) {
  EXPECT_EQ(counter_and_info(Format::kOpenMetrics),
            "# HELP x_bytes Help.\n# TYPE x_bytes counter\n# UNIT x_bytes bytes\n"
            "x_bytes_total{a=\"1\",b=\"2\"} 3\nx_bytes_total{b=\"2\",c=\"3\"} 4\n"
            "x_bytes_total{a=\"1\"} 5\n"
            "# HELP x Help.\n# TYPE x info\nx_info{a=\"1\"} 1\n# EOF\n");
}

TEST(Writer, EmptyOpenMetricsStillEnds) {
  EXPECT_EQ(Writer(Format::kOpenMetrics).finish(), "# EOF\n");
}

TEST(Writer, HelpIsEscapedAsEachFormatAsks) {
  Series series = kGaugeSeries;
  series.help = "a\\b\nc\"d";
  for (const auto& [format, expected] :
       {std::pair(Format::kText, "# HELP x_things a\\\\b\\nc\"d\n"),
        std::pair(Format::kOpenMetrics, "# HELP x_things a\\\\b\\nc\\\"d\n")}) {
    Writer writer(format);
    writer.family(series);
    writer.sample({}, std::uint64_t{1});
    EXPECT_EQ(writer.finish().substr(0, std::string(expected).size()), expected);
  }
}

TEST(Writer, HistogramIsCumulativeAndCountsWhatIsBeyondAllBounds) {
  Histogram values;
  values.observe(0.00005);  // at a bound: in its bucket
  values.observe(0.3);
  values.observe(100);
  Writer writer(Format::kText);
  writer.family(kHistogramSeries);
  writer.histogram({{"m", "A"}}, values);
  EXPECT_EQ(writer.finish(), R"(# HELP x_seconds Help.
# TYPE x_seconds histogram
x_seconds_bucket{m="A",le="5e-05"} 1
x_seconds_bucket{m="A",le="0.0001"} 1
x_seconds_bucket{m="A",le="0.00025"} 1
x_seconds_bucket{m="A",le="0.0005"} 1
x_seconds_bucket{m="A",le="0.001"} 1
x_seconds_bucket{m="A",le="0.0025"} 1
x_seconds_bucket{m="A",le="0.005"} 1
x_seconds_bucket{m="A",le="0.01"} 1
x_seconds_bucket{m="A",le="0.025"} 1
x_seconds_bucket{m="A",le="0.05"} 1
x_seconds_bucket{m="A",le="0.1"} 1
x_seconds_bucket{m="A",le="0.25"} 1
x_seconds_bucket{m="A",le="0.5"} 2
x_seconds_bucket{m="A",le="1.0"} 2
x_seconds_bucket{m="A",le="2.0"} 2
x_seconds_bucket{m="A",le="+Inf"} 3
x_seconds_sum{m="A"} 100.30005
x_seconds_count{m="A"} 3
)");
}

TEST(Histogram, HasTheBoundsThatItIsMadeWith) {
  Histogram values(Histogram::kWaits);
  values.observe(45);
  EXPECT_EQ(values.cumulative(5), 0U) << "30 s";
  EXPECT_EQ(values.cumulative(6), 1U) << "60 s";
  Writer writer(Format::kText);
  writer.family(kHistogramSeries);
  writer.histogram({}, values);
  EXPECT_NE(writer.finish().find("x_seconds_bucket{le=\"60.0\"} 1\n"), std::string::npos);
}

TEST(Histogram, TakesNoNonsense) {
  Histogram values;
  values.observe(std::nan(""));
  EXPECT_EQ(values.count(), 0U);
  values.observe(-1);
  EXPECT_EQ(values.cumulative(0), 1U);
  EXPECT_EQ(values.sum(), 0);
}

}  // namespace
}  // namespace pinion::prometheus
