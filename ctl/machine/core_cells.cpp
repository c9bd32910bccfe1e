#include "ctl/machine/core_cells.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "ctl/machine/draw_topology.h"

namespace pinion::ctl {
namespace {

using topology::Pu;
using Place = std::vector<Pu>::const_iterator;

// SGR numbers of text colours; a background is 10 above. No black and no white: they vanish on one
// of the two usual backgrounds.
constexpr std::array kColors = {32, 33, 34, 35, 36, 31, 92, 93, 94, 95, 96, 91};

// CPUs from here on that share an L3.
std::size_t l3_size(Place cpu, Place end) {
  return static_cast<std::size_t>(
      std::find_if(cpu, end, [&](const Pu& one) { return one.l3 != cpu->l3; }) - cpu);
}

// Whether to begin a new line before so many columns (and the bracket behind them). A line that
// holds no CPU yet never is: on the next one there would be no more room.
bool full(const Cells& cells, std::size_t room, std::size_t head, std::size_t width) {
  return width > 0 && cells.width > head && cells.width + room + 1 > width;
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

std::vector<Cells> core_cells(std::vector<Pu> cpus, std::size_t width,
                              const std::function<std::string(topology::Index node)>& name,
                              const std::function<std::string(topology::CpuId cpu)>& cell) {
  std::sort(cpus.begin(), cpus.end(), [](const Pu& a, const Pu& b) {
    return std::tuple(a.node, a.l3, a.core, a.cpu) < std::tuple(b.node, b.l3, b.core, b.cpu);
  });
  std::vector<Cells> all;
  std::size_t head = 0;  // columns of the name
  for (auto cpu = cpus.cbegin(); cpu != cpus.cend(); ++cpu) {
    if (cpu == cpus.cbegin() || cpu->node != (cpu - 1)->node) {
      if (!all.empty()) all.back().add("]", 1);
      const std::string shown = name(cpu->node) + " [";
      head = shown.size();
      all.emplace_back().add(shown, head);
    } else {
      const bool new_l3 = cpu->l3 != (cpu - 1)->l3;
      const std::size_t room = new_l3 ? 1 + l3_size(cpu, cpus.cend()) : 1;
      if (full(all.back(), room, head, width)) {
        all.emplace_back().add(std::string(head, ' '), head);
      } else if (new_l3) {
        all.back().add(" ", 1);
      }
    }
    all.back().add(cell(cpu->cpu), 1);
    ++all.back().cpus;
  }
  if (!all.empty()) all.back().add("]", 1);
  return all;
}

}  // namespace pinion::ctl
