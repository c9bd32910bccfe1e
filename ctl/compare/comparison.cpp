#include "ctl/compare/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pinion::ctl {
namespace {

// Counts of arrangements stay exact in a double up to here: C(50, 25) < 2^53.
constexpr std::size_t kExactValues = 50;

std::vector<double> finite(const std::vector<double>& values) {
  std::vector<double> kept;
  for (const double value : values) {
    if (std::isfinite(value)) kept.push_back(value);
  }
  return kept;
}

// Between neighbours, linearly. Precondition: not empty, ascending; 0 <= share <= 1.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The values of both sides as ranks. Twice the rank, because equal values share their mean rank and
// that may end in a half.
struct Ranks {
  std::vector<std::size_t> doubled;  // of all values, ascending
  std::size_t a_count = 0;
  std::size_t a_sum = 0;  // of A's doubled ranks
  double ties = 0;        // sum of t^3 - t over groups of t equal values
};

Ranks ranks_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // value, whether of A
  all.reserve(a.size() + b.size());
  for (const double value : a) all.emplace_back(value, true);
  for (const double value : b) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  Ranks ranks;
  ranks.a_count = a.size();
  for (std::size_t from = 0; from < all.size();) {
    std::size_t end = from;
    while (end < all.size() && all[end].first == all[from].first) ++end;
    const std::size_t doubled = from + 1 + end;  // ranks from+1 .. end: twice their mean
    for (std::size_t i = from; i < end; ++i) {
      ranks.doubled.push_back(doubled);
      if (all[i].second) ranks.a_sum += doubled;
    }
    const auto equal = static_cast<double>(end - from);
    ranks.ties += equal * equal * equal - equal;
    from = end;
  }
  return ranks;
}

// Of all ways to pick as many ranks as A has, the share whose sum is as far from the middle as A's.
double exact_chance(const Ranks& ranks) {
  std::size_t whole = 0;
  for (const std::size_t rank : ranks.doubled) whole += rank;
  // ways[k][s]: how many choices of k ranks sum to s.
  std::vector<std::vector<double>> ways(ranks.a_count + 1, std::vector<double>(whole + 1, 0));
  ways[0][0] = 1;
  for (const std::size_t rank : ranks.doubled) {
    for (std::size_t k = ranks.a_count; k > 0; --k) {
      for (std::size_t sum = rank; sum <= whole; ++sum) ways[k][sum] += ways[k - 1][sum - rank];
    }
  }
  // The middle is whole * a_count / count; compared in whole numbers.
  const auto distance = [&](std::size_t sum) {
    const std::size_t left = sum * ranks.doubled.size();
    const std::size_t right = whole * ranks.a_count;
    return left > right ? left - right : right - left;
  };
  double all = 0;
  double as_far = 0;
  for (std::size_t sum = 0; sum <= whole; ++sum) {
    all += ways[ranks.a_count][sum];
    if (distance(sum) >= distance(ranks.a_sum)) as_far += ways[ranks.a_count][sum];
  }
  return as_far / all;
}

double approximate_chance(const Ranks& ranks) {
  const auto count = static_cast<double>(ranks.doubled.size());
  const auto a = static_cast<double>(ranks.a_count);
  const double b = count - a;
  const double off = std::abs(static_cast<double>(ranks.a_sum) / 2 - a * (count + 1) / 2);
  const double variance = a * b / 12 * (count + 1 - ranks.ties / (count * (count - 1)));
  if (variance <= 0) return 1;                         // all values are equal
  const double continuous = std::max(0.0, off - 0.5);  // sums of ranks go in steps
  return std::erfc(continuous / std::sqrt(2 * variance));
}

// The smallest chance that so many values can give: both complete separations.
double least_chance(std::size_t a, std::size_t b) {
  double arrangements = 1;
  for (std::size_t i = 1; i <= std::min(a, b); ++i) {
    arrangements *= static_cast<double>(a + b - std::min(a, b) + i) / static_cast<double>(i);
  }
  return std::min(1.0, 2 / arrangements);
}

}  // namespace

std::optional<Summary> summary_of(const std::vector<double>& values) {
  std::vector<double> sorted = finite(values);
  if (sorted.empty()) return std::nullopt;
  std::sort(sorted.begin(), sorted.end());
  return Summary{.count = sorted.size(),
                 .median = quantile(sorted, 0.5),
                 .low = quantile(sorted, 0.25),
                 .high = quantile(sorted, 0.75)};
}

std::string_view to_string(Verdict verdict) {
  static constexpr std::array<std::string_view, 4> words = {
      "less", "more", "no difference to be seen", "too few values"};
  return words[static_cast<std::size_t>(verdict)];
}

double chance_of(const Measure& measure) {
  const std::vector<double> a = finite(measure.a);
  const std::vector<double> b = finite(measure.b);
  if (a.empty() || b.empty()) return 1;
  const Ranks ranks = ranks_of(a, b);
  return ranks.doubled.size() <= kExactValues ? exact_chance(ranks) : approximate_chance(ranks);
}

Verdict verdict_of(const Measure& measure) {
  const std::vector<double> a = finite(measure.a);
  const std::vector<double> b = finite(measure.b);
  if (least_chance(a.size(), b.size()) >= kSignificance) return Verdict::kTooFew;
  if (chance_of(measure) >= kSignificance) return Verdict::kNoDifference;
  // By ranks and not by medians: those can be equal where the rest is not.
  const Ranks ranks = ranks_of(a, b);
  const double a_mean = static_cast<double>(ranks.a_sum) / static_cast<double>(a.size());
  const double mean = static_cast<double>(ranks.doubled.size() + 1);  // of doubled ranks
  return a_mean > mean ? Verdict::kLess : Verdict::kMore;
}

std::optional<double> change_percent(const Measure& measure) {
  const auto a = summary_of(measure.a);
  const auto b = summary_of(measure.b);
  if (!a || !b || a->median == 0) return std::nullopt;
  return (b->median - a->median) / std::abs(a->median) * 100;
}

}  // namespace pinion::ctl
