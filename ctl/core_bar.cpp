#include "ctl/core_bar.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "ctl/container_rows.h"
#include "ctl/draw_topology.h"
#include "topology/cpuset.h"

namespace pinion::ctl {
namespace {

using topology::CpuSet;

// SGR numbers of text colours; a background is 10 above. No black and no white: they vanish on one
// of the two usual backgrounds.
constexpr std::array kColors = {32, 33, 34, 35, 36, 31, 92, 93, 94, 95, 96, 91};

// Text of which the columns are counted without the escapes in it.
struct Cells {
  std::string text;
  std::size_t width = 0;
  std::size_t cpus = 0;

  void add(const std::string& shown, std::size_t columns) {
    text += shown;
    width += columns;
  }
};

CpuSet parsed(const std::string& list) {
  const auto cpus = CpuSet::parse(list);
  return cpus ? *cpus : CpuSet();
}

class Bar {
 public:
  Bar(const v1::Snapshot& snapshot, bool color)
      : machine_(snapshot.node().machine()),
        reserved_(parsed(snapshot.node().sets().reserved())),
        isolated_(parsed(snapshot.node().sets().isolated())),
        color_(color) {
    std::size_t number = 0;
    for (const v1::Container* container : by_cores(snapshot)) {
      for (const int cpu : held_cpus(*container)) holder_.emplace(cpu, number);
      ++number;
    }
  }

  // A piece for each NUMA node with CPUs, in the machine's order: "0 [AAAA ....]"; several where
  // one would be wider than `width`.
  [[nodiscard]] std::vector<Cells> pieces(std::size_t width) const {
    std::vector<Cpu> cpus(machine_.cpus().begin(), machine_.cpus().end());
    std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
      return std::tuple(a.node(), a.l3(), a.core(), a.cpu()) <
             std::tuple(b.node(), b.l3(), b.core(), b.cpu());
    });
    std::vector<Cells> all;
    for (auto from = cpus.cbegin(); from != cpus.cend();) {
      const auto end = std::find_if(from, cpus.cend(),
                                    [&](const Cpu& one) { return one.node() != from->node(); });
      add_node(all, from, end, width);
      from = end;
    }
    return all;
  }

 private:
  using Cpu = v1::Machine::Cpu;
  using Place = std::vector<Cpu>::const_iterator;

  void add_node(std::vector<Cells>& all, Place from, Place end, std::size_t width) const {
    const std::string name = node_name(from->node()) + " [";
    all.emplace_back().add(name, name.size());
    for (auto cpu = from; cpu != end; ++cpu) {
      const bool new_l3 = cpu != from && cpu->l3() != (cpu - 1)->l3();
      const std::size_t room = new_l3 ? 1 + l3_size(cpu, end) : 1;
      if (full(all.back(), room, name.size(), width)) {
        all.emplace_back().add(std::string(name.size(), ' '), name.size());
      } else if (new_l3) {
        all.back().add(" ", 1);
      }
      all.back().add(cell(static_cast<int>(cpu->cpu())), 1);
      ++all.back().cpus;
    }
    all.back().add("]", 1);
  }

  // CPUs from here on that share an L3.
  static std::size_t l3_size(Place cpu, Place end) {
    return static_cast<std::size_t>(
        std::find_if(cpu, end, [&](const Cpu& one) { return one.l3() != cpu->l3(); }) - cpu);
  }

  // Whether to begin a new line before so many columns (and the bracket behind them). A line that
  // holds no CPU yet never is: on the next one there would be no more room.
  static bool full(const Cells& cells, std::size_t room, std::size_t head, std::size_t width) {
    return width > 0 && cells.width > head && cells.width + room + 1 > width;
  }

  [[nodiscard]] std::string node_name(int index) const {
    if (index < 0 || index >= machine_.memory_nodes_size()) return "-";
    return std::to_string(machine_.memory_nodes(index).id());
  }

  [[nodiscard]] std::string cell(int cpu) const {
    const auto holder = holder_.find(cpu);
    if (holder != holder_.end()) {
      const std::string mark(1, core_mark(holder->second));
      return color_ ? colored(mark, holder->second, true) : mark;
    }
    std::string mark = ".";
    if (isolated_.contains(cpu)) mark = "i";
    if (reserved_.contains(cpu)) mark = "r";
    return color_ ? dimmed(mark) : mark;
  }

  const v1::Machine& machine_;
  CpuSet reserved_;
  CpuSet isolated_;
  bool color_;
  std::map<int, std::size_t> holder_;
};

// What does not fit behind the others begins a line.
std::vector<std::vector<Cells>> wrapped(std::vector<Cells> cells, std::size_t width) {
  std::vector<std::vector<Cells>> lines;
  std::size_t used = 0;
  for (Cells& each : cells) {
    if (lines.empty() || (width > 0 && used + 2 + each.width > width)) {
      lines.emplace_back();
      used = each.width;
    } else {
      used += 2 + each.width;
    }
    lines.back().push_back(std::move(each));
  }
  return lines;
}

}  // namespace

std::string colored(const std::string& text, std::size_t number, bool filled) {
  const int color = kColors[number % kColors.size()];
  return (filled ? "\x1b[30;" + std::to_string(color + 10) : "\x1b[" + std::to_string(color)) +
         "m" + text + "\x1b[0m";
}

std::string dimmed(const std::string& text) {
  return "\x1b[2m" + text + "\x1b[0m";
}

char core_mark(std::size_t number) {
  return kMarks[number % kMarks.size()];
}

std::vector<std::string> core_bar(const v1::Snapshot& snapshot, std::size_t width,
                                  std::size_t lines, bool color) {
  const auto rows = wrapped(Bar(snapshot, color).pieces(width), width);
  std::vector<std::string> text;
  std::size_t left = 0;  // CPUs without room
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.size() > lines && i + 1 >= lines) {
      for (const Cells& cells : rows[i]) left += cells.cpus;
      continue;
    }
    std::string line;
    for (const Cells& cells : rows[i]) line += (line.empty() ? "" : "  ") + cells.text;
    text.push_back(line);
  }
  if (left > 0 && lines > 0) {
    text.push_back("... " + std::to_string(left) + " more CPUs");
  }
  return text;
}

}  // namespace pinion::ctl
