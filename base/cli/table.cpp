#include "base/cli/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace pinion {
namespace {

std::string printed(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// Three significant digits of a number of 1 or more.
std::string three_digits(double value) {
  const double amount = std::abs(value);
  if (amount < 9.995) return printed("%.2f", value);
  if (amount < 99.95) return printed("%.1f", value);
  return printed("%.0f", value);
}

std::string line_of(const Row& row, const std::vector<std::size_t>& widths,
                    const std::vector<bool>& right) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string blanks(widths[i] - row[i].size(), ' ');
    if (i > 0) line += "  ";
    line += right[i] ? blanks + row[i] : row[i] + blanks;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line + "\n";
}

}  // namespace

std::string table(const std::vector<Row>& rows, const std::vector<std::size_t>& right) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<bool> to_the_right(widths.size());
  for (const std::size_t column : right) {
    if (column < to_the_right.size()) to_the_right[column] = true;
  }
  std::string text;
  for (const Row& row : rows) text += line_of(row, widths, to_the_right);
  return text;
}

std::string plain(std::string_view text) {
  std::string safe(text);
  for (char& c : safe) {
    if (c < ' ' || c > '~') c = '?';  // where char is signed, bytes above 127 are below ' '
  }
  return safe;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  if (width < 4) return std::string(text.substr(0, width));
  const std::size_t tail = (width - 2) / 2;
  const std::size_t head = width - 2 - tail;
  std::string cut(text.substr(0, head));
  cut += "..";
  return cut += text.substr(text.size() - tail);
}

std::string figure_text(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double amount = std::abs(value);
  if (amount < 0.9995) return printed("%.3f", value);
  if (amount < 9999.5) return amount < 99.95 ? three_digits(value) : printed("%.0f", value);
  double rest = value;
  for (const char* suffix : {"k", "M", "G", "T"}) {
    rest /= 1000;
    if (std::abs(rest) < 999.5) return three_digits(rest) + suffix;
  }
  return printed("%.1e", value);
}

}  // namespace pinion
