#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/cli/table.h"
#include "ctl/compare/comparison.h"

namespace pinion::ctl {
namespace {

// Pixels.
constexpr double kWidth = 640;
constexpr double kHead = 48;        // above the first plot
constexpr double kPlot = 92;        // height of one plot
constexpr double kLeft = 110;       // of the axis
constexpr double kRight = 40;       // room behind it
constexpr double kLane = 22;        // of one side in a plot
constexpr std::size_t kDots = 200;  // of one side at most: more cannot be told apart
constexpr std::size_t kNameLength = 60;

constexpr std::string_view kStyle =
    "<style>text{font:12px sans-serif;fill:#222}.s{fill:#666}.x{stroke:#888}"
    ".a{fill:#2b6cb0}.b{fill:#c05621}.m{stroke:#222;stroke-width:2}svg{background:#fff}"
    "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#ddd}.s{fill:#999}"
    ".a{fill:#63a4e8}.b{fill:#f0905a}.m{stroke:#eee}}</style>\n";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : plain(text)) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else {
      safe += c;
    }
  }
  return safe;
}

// With one decimal; attributes need no more.
std::string px(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string label(double x, double y, const std::string& kind, const std::string& anchor,
                  const std::string& text) {
  return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" class=\"" + kind + "\" text-anchor=\"" +
         anchor + "\">" + escaped(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& kind) {
  return "<line x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" + px(x2) + "\" y2=\"" + px(y2) +
         "\" class=\"" + kind + "\"/>\n";
}

// An axis from 0, or from the least value where that is below.
struct Axis {
  double low = 0;
  double high = 0;

  void include(const std::vector<double>& values) {
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  [[nodiscard]] double at(double value) const {
    const double room = kWidth - kLeft - kRight;
    return high > low ? kLeft + (value - low) / (high - low) * room : kLeft;
  }
};

std::string lane(const Axis& axis, double top, const std::string& kind, const std::string& name,
                 const std::vector<double>& values) {
  const auto summary = summary_of(values);
  const double middle = top + kLane / 2;
  std::string text = label(kLeft - 8, middle + 4, "", "end", shortened(plain(name), 15));
  if (!summary) return text + label(kLeft + 4, middle + 4, "s", "start", "not measured");
  const double low = axis.at(summary->low);
  text += "<rect x=\"" + px(low) + "\" y=\"" + px(top + 4) + "\" width=\"" +
          px(std::max(1.0, axis.at(summary->high) - low)) + "\" height=\"" + px(kLane - 8) +
          "\" class=\"" + kind + "\" opacity=\"0.3\"/>\n";
  std::size_t drawn = 0;
  for (const double value : values) {
    if (!std::isfinite(value) || drawn++ >= kDots) continue;
    text += "<circle cx=\"" + px(axis.at(value)) + "\" cy=\"" + px(middle) +
            "\" r=\"3\" opacity=\"0.6\" class=\"" + kind + "\"/>\n";
  }
  const double median = axis.at(summary->median);
  return text + line(median, top + 2, median, top + kLane - 2, "m");
}

std::string plot(const Comparison& comparison, const Measure& measure, double top) {
  Axis axis;
  axis.include(measure.a);
  axis.include(measure.b);
  const double base = top + 20 + 2 * kLane + 4;
  std::string text = label(kLeft, top + 12, "", "start",
                           measure.name + (measure.unit.empty() ? "" : " [" + measure.unit + "]"));
  const Verdict verdict = verdict_of(measure);
  const bool seen = verdict == Verdict::kLess || verdict == Verdict::kMore;
  text += label(kWidth - kRight, top + 12, "s", "end",
                (seen ? "B is " : "") + std::string(to_string(verdict)));
  text += lane(axis, top + 20, "a", comparison.a_name, measure.a);
  text += lane(axis, top + 20 + kLane, "b", comparison.b_name, measure.b);
  text += line(kLeft, base, kWidth - kRight, base, "x");
  text += label(kLeft, base + 14, "s", "middle", figure_text(axis.low));
  if (axis.high > axis.low) {
    text += label(kWidth - kRight, base + 14, "s", "middle", figure_text(axis.high));
  }
  return text;
}

}  // namespace

std::string comparison_svg(const Comparison& comparison) {
  std::string plots;
  double top = kHead;
  for (const Measure& measure : comparison.measures) {
    if (!summary_of(measure.a) && !summary_of(measure.b)) continue;
    plots += plot(comparison, measure, top);
    top += kPlot;
  }
  const std::string title = "A: " + shortened(plain(comparison.a_name), kNameLength) +
                            ", B: " + shortened(plain(comparison.b_name), kNameLength);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + px(kWidth) + "\" height=\"" +
         px(top) + "\" viewBox=\"0 0 " + px(kWidth) + " " + px(top) + "\">\n" +
         std::string(kStyle) + label(kLeft, 24, "", "start", title) + plots + "</svg>\n";
}

}  // namespace pinion::ctl
