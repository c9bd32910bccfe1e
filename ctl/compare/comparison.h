// Two sets of measurements beside each other: medians, spread, and whether the difference is more
// than the noise. Pure: used by `pinionctl compare` and by the demo.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinion::ctl {

// One value for each round or interval. Values that are not finite are left out everywhere. The
// test assumes that the values of one side are independent of each other: rounds are, neighbouring
// intervals of one run are so only roughly.
struct Measure {
  std::string name;  // "migrations"
  std::string unit;  // as shown behind the name: "s", "1/s", "%"; empty: a plain number
  std::vector<double> a;
  std::vector<double> b;
};

struct Comparison {
  std::string a_name;  // "pinned"
  std::string b_name;  // "unpinned"
  std::vector<Measure> measures;
};

struct Summary {
  std::size_t count = 0;
  double median = 0;
  double low =
      0;  // quartiles, interpolated linearly between neighbours (type 7 of Hyndman and Fan,
  double high = 0;  // "Sample Quantiles in Statistical Packages", 1996: what R and NumPy do)
};

// Not set where there is no finite value.
std::optional<Summary> summary_of(const std::vector<double>& values);

enum class Verdict {
  kLess,          // B is less than A, by more than the noise
  kMore,          // B is more than A, likewise
  kNoDifference,  // none to be seen
  kTooFew,        // so few values that even a complete separation could be chance
};

// "less", "more", "no difference to be seen", "too few values".
std::string_view to_string(Verdict verdict);

// Below this probability of chance a difference counts as seen. Of twenty measures without any
// difference one is still taken for different.
inline constexpr double kSignificance = 0.05;

// How likely ranks as uneven as these, or more so, are by chance alone: the two-sided rank-sum test
// (Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger
// than the Other", 1947), equal values sharing their mean rank. Exact, ties included, up to 50
// values on both sides together; above that the normal approximation with the correction for ties
// (Lehmann, "Nonparametrics", 1975, section 1.4). 1 where a side is empty.
double chance_of(const Measure& measure);

// kTooFew where no arrangement of so many values could get below kSignificance: 4 on each side are
// enough, 3 are not.
Verdict verdict_of(const Measure& measure);

// The change of the median from A to B in per cent; not set where a side is empty or A's is 0.
std::optional<double> change_percent(const Measure& measure);

// A line for each measure: median and quartiles of both, the change, the verdict; and a line below
// that says what the verdict means. A measure without any value is left out. ASCII, ends with a
// newline.
std::string comparison_table(const Comparison& comparison);

// One small plot for each measure, below each other: every value as a dot, the quartiles as a box,
// the median as a line; axes from 0. A whole SVG document without outside parts, readable on a
// light and a dark background.
std::string comparison_svg(const Comparison& comparison);

}  // namespace pinion::ctl
