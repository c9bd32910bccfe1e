#include "ctl/top/top_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/cli/table.h"
#include "ctl/machine/core_cells.h"
#include "ctl/node/core_bar.h"

namespace pinion::ctl {
namespace {

using v1::Container;

constexpr std::size_t kNameWidth = 22;   // names are not shortened below it for another column
constexpr std::size_t kCoresWidth = 17;  // of the list of cores at most
constexpr std::size_t kUnlimited = 100000;
constexpr double kMuchIntrusion = 0.01;  // shown in red from here on

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kReverse = "\x1b[7m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kPlain = "\x1b[0m";

struct Column {
  SortKey key = SortKey::kCpu;
  std::string_view title;
  bool share = false;  // shown in per cent
  std::size_t width = 7;
};

// From left to right; where the width does not do, the last ones go first.
constexpr std::array<Column, 8> kColumns = {{
    {SortKey::kCpu, "CPU"},
    {SortKey::kMigrations, "MIGR/S"},
    {SortKey::kIntrusion, "INTR%", true},
    {SortKey::kMpki, "MPKI"},
    {SortKey::kSwitches, "SWCH/S"},
    {SortKey::kIpc, "IPC"},
    {SortKey::kRemote, "REMOTE%", true},
    {SortKey::kL3Misses, "L3M/S"},
}};

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string padded_right(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

std::string percent_text(double share) {
  if (share == 0) return "0";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), share < 0.0995 ? "%.2f" : "%.1f", share * 100);
  return text.data();
}

std::string value_text(const Column& column, std::optional<double> value) {
  if (!value) return "-";
  return column.share ? percent_text(*value) : figure_text(*value);
}

// The line's first columns; escapes take none and are all kept, so that no colour runs on.
std::string cut_to(const std::string& line, std::size_t width) {
  std::string text;
  std::size_t column = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      const std::size_t end = std::min(line.find('m', i), line.size() - 1);
      text += line.substr(i, end + 1 - i);
      i = end;
    } else if (column++ < width) {
      text += line[i];
    }
  }
  return text;
}

class Page {
 public:
  Page(const v1::Snapshot& snapshot, const TopView& view)
      : snapshot_(snapshot), view_(view), width_(view.width == 0 ? kUnlimited : view.width) {
    for (const Container& container : snapshot.containers()) {
      if (!container.finished()) rows_.push_back(&container);
    }
    for (const Container* container : by_cores(snapshot)) {
      numbers_.emplace(container, numbers_.size());
    }
    sort_by(rows_, view.sort);
    choose_columns();
  }

  [[nodiscard]] std::string draw() const {
    std::vector<std::string> lines = {headline()};
    if (view_.height > 0) {
      for (std::string& line :
           core_bar(snapshot_, width_, std::max<std::size_t>(1, view_.height / 3), view_.color)) {
        lines.push_back(std::move(line));
      }
      lines.emplace_back();
    }
    if (!view_.message.empty()) lines.push_back(styled(plain(view_.message), kRed));
    lines.push_back(title_line());
    add_rows(lines);
    if (view_.keys) lines.push_back(key_line());
    std::string text;
    const std::size_t fitting = view_.height == 0 ? lines.size() : view_.height;
    for (std::size_t i = 0; i < std::min(lines.size(), fitting); ++i) {
      text += cut_to(lines[i], width_) + "\n";
    }
    return text;
  }

 private:
  [[nodiscard]] std::string styled(const std::string& text, std::string_view style) const {
    if (!view_.color || style.empty()) return text;
    return std::string(style) + text + std::string(kPlain);
  }

  [[nodiscard]] std::string headline() const {
    const v1::NodeState& node = snapshot_.node();
    double cpus = 0;
    for (const Container* container : rows_) {
      cpus += value_of(*container, SortKey::kCpu).value_or(0);
    }
    const std::size_t troubled = static_cast<std::size_t>(std::count_if(
        rows_.begin(), rows_.end(), [](const Container* one) { return !one->trouble().empty(); }));
    std::string text = plain(node.name());
    if (!view_.clock.empty()) text += "  " + view_.clock;
    text += "  " + std::to_string(rows_.size()) + " containers, " +
            std::to_string(numbers_.size()) + " exclusive, " + figure_text(cpus) + " of " +
            std::to_string(node.machine().cpus_size()) + " CPUs used";
    if (!node.synchronized()) text += ", not synchronized";
    if (troubled > 0) text += ", " + std::to_string(troubled) + " in trouble (!)";
    return styled(text, kBold);
  }

  // Columns in which somebody has a value, as many as the width has room for.
  void choose_columns() {
    for (const Column& column : kColumns) {
      if (std::any_of(rows_.begin(), rows_.end(), [&](const Container* one) {
            return value_of(*one, column.key).has_value();
          })) {
        columns_.push_back(column);
      }
    }
    for (const Container* container : rows_) {
      name_width_ = std::max(name_width_, full_name(*container).size());
      cores_width_ = std::max(cores_width_, std::min(kCoresWidth, cores_text(*container).size()));
    }
    while (fixed_width() + std::min(kNameWidth, name_width_) > width_ && drop_column()) {
    }
    const std::size_t room = width_ > fixed_width() ? width_ - fixed_width() : 1;
    name_width_ = std::min(name_width_, room);
  }

  bool drop_column() {
    for (std::size_t i = columns_.size(); i > 0; --i) {
      if (columns_[i - 1].key == view_.sort) continue;
      columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      return true;
    }
    return false;
  }

  // All but the name: mark, trouble, gaps, cores, figures.
  [[nodiscard]] std::size_t fixed_width() const {
    std::size_t width = 3 + 1 + cores_width_;
    for (const Column& column : columns_) width += 1 + column.width;
    return width;
  }

  [[nodiscard]] static std::string cores_text(const Container& container) {
    if (!container.exclusive()) return "shared";
    const std::string& cpus = container.lent_to().empty() ? container.cpus() : container.claim();
    return cpus.empty() ? "-" : plain(cpus);
  }

  [[nodiscard]] std::string title_line() const {
    std::string text = "   " + padded_right("CONTAINER", name_width_).substr(0, name_width_) + " " +
                       padded_right("CORES", cores_width_);
    text = styled(text, kReverse);
    for (const Column& column : columns_) {
      const std::string title = padded_left(std::string(column.title), column.width);
      const bool sorted = column.key == view_.sort;
      text += styled(" ", kReverse) + styled(title, sorted ? kBold : kReverse);
    }
    return text;
  }

  [[nodiscard]] std::string_view style_of(const Container& container, const Column& column,
                                          std::optional<double> value) const {
    if (!container.exclusive() || !value) return "";
    if (column.key == SortKey::kIntrusion && *value >= kMuchIntrusion) return kRed;
    if (column.key == SortKey::kMigrations && *value > 0) return kYellow;
    return "";
  }

  [[nodiscard]] std::string row_line(const Container& container) const {
    const auto number = numbers_.find(&container);
    std::string mark = container.trouble().empty() ? " " : styled("!", kRed);
    std::string cores = padded_right(shortened(cores_text(container), cores_width_), cores_width_);
    if (number != numbers_.end()) {
      const std::string letter(1, core_mark(number->second));
      mark += view_.color ? colored(letter, number->second, true) : letter;
      if (view_.color) cores = colored(cores, number->second, false);
    } else {
      mark += " ";
      if (view_.color) cores = dimmed(cores);
    }
    std::string text = mark + " " +
                       padded_right(shortened(full_name(container), name_width_), name_width_) +
                       " " + cores;
    for (const Column& column : columns_) {
      const auto value = value_of(container, column.key);
      text += " " + styled(padded_left(value_text(column, value), column.width),
                           style_of(container, column, value));
    }
    return text;
  }

  void add_rows(std::vector<std::string>& lines) const {
    std::size_t room = rows_.size();
    if (view_.height > 0) {
      const std::size_t used = lines.size() + (view_.keys ? 1 : 0);
      room = view_.height > used ? view_.height - used : 0;
    }
    const bool all = rows_.size() <= room;
    const std::size_t shown = all || room == 0 ? std::min(room, rows_.size()) : room - 1;
    for (std::size_t i = 0; i < shown; ++i) lines.push_back(row_line(*rows_[i]));
    if (rows_.empty()) lines.emplace_back("   no containers");
    if (!all && room > 0) {
      lines.push_back("   ... " + std::to_string(rows_.size() - shown) + " more");
    }
  }

  [[nodiscard]] std::string key_line() const {
    return styled("sorted by " + std::string(to_string(view_.sort)) +
                      " | c cpu  m migrations  i intrusion  l mpki  n name  q quit",
                  kBold);
  }

  const v1::Snapshot& snapshot_;
  const TopView& view_;
  std::size_t width_;
  std::vector<const Container*> rows_;               // sorted
  std::map<const Container*, std::size_t> numbers_;  // of those with cores of their own
  std::vector<Column> columns_;
  std::size_t name_width_ = 9;   // "CONTAINER"
  std::size_t cores_width_ = 6;  // "shared"
};

}  // namespace

std::string render_top(const v1::Snapshot& snapshot, const TopView& view) {
  return Page(snapshot, view).draw();
}

}  // namespace pinion::ctl
