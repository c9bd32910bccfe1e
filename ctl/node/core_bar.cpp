#include "ctl/node/core_bar.h"

#include <algorithm>
#include <map>

#include "ctl/machine/core_cells.h"
#include "ctl/node/container_rows.h"
#include "topology/cpuset.h"

namespace pinion::ctl {
namespace {

using topology::CpuSet;

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

  [[nodiscard]] std::vector<Cells> pieces(std::size_t width) const {
    std::vector<topology::Pu> cpus;
    for (const v1::Machine::Cpu& cpu : machine_.cpus()) {
      cpus.push_back({.cpu = static_cast<int>(cpu.cpu()),
                      .core = static_cast<int>(cpu.core()),
                      .l2 = topology::kNoIndex,
                      .l3 = static_cast<int>(cpu.l3()),
                      .node = cpu.node(),
                      .package = topology::kNoIndex});
    }
    return core_cells(
        std::move(cpus), width, [this](int node) { return node_name(node); },
        [this](int cpu) { return cell(cpu); });
  }

 private:
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
