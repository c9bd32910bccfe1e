#include <array>
#include <cmath>
#include <cstdio>

#include "base/cli/table.h"
#include "ctl/compare/comparison.h"

namespace pinion::ctl {
namespace {

std::string title_of(const Measure& measure) {
  return plain(measure.name) + (measure.unit.empty() ? "" : " [" + plain(measure.unit) + "]");
}

std::string spread_text(const std::optional<Summary>& summary) {
  if (!summary) return "-";
  return figure_text(summary->low) + " .. " + figure_text(summary->high);
}

std::string median_text(const std::optional<Summary>& summary) {
  return summary ? figure_text(summary->median) : "-";
}

std::string change_text(const Measure& measure) {
  const auto change = change_percent(measure);
  if (!change) return "-";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), std::abs(*change) < 10 ? "%+.1f %%" : "%+.0f %%",
                *change);
  return text.data();
}

std::string count_text(const std::optional<Summary>& a, const std::optional<Summary>& b) {
  return std::to_string(a ? a->count : 0) + "+" + std::to_string(b ? b->count : 0);
}

std::string verdict_text(const Measure& measure) {
  const Verdict verdict = verdict_of(measure);
  return std::string(verdict == Verdict::kMore || verdict == Verdict::kLess ? "B is " : "") +
         std::string(to_string(verdict));
}

}  // namespace

std::string comparison_table(const Comparison& comparison) {
  std::vector<Row> rows = {
      {"MEASURE", "A", "QUARTILES", "B", "QUARTILES", "CHANGE", "VALUES", "VERDICT"}};
  for (const Measure& measure : comparison.measures) {
    const auto a = summary_of(measure.a);
    const auto b = summary_of(measure.b);
    if (!a && !b) continue;
    rows.push_back({title_of(measure), median_text(a), spread_text(a), median_text(b),
                    spread_text(b), change_text(measure), count_text(a, b), verdict_text(measure)});
  }
  std::string text = "A: " + plain(comparison.a_name) + "\nB: " + plain(comparison.b_name) + "\n\n";
  if (rows.size() == 1) return text + "nothing was measured on either side\n";
  text += table(rows, {1, 2, 3, 4, 5, 6});
  text +=
      "\nMedians and quartiles. Less and more: a two-sided rank-sum test leaves less than 5 %\n"
      "to chance.\n";
  return text;
}

}  // namespace pinion::ctl
