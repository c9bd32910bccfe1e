// The CPUs of a machine as lines of cells, a character for each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace pinion::ctl {

// Text in one of twelve colours that `number` chooses, one after another; `filled` is black on the
// colour, else the text has it.
std::string colored(const std::string& text, std::size_t number, bool filled);
// Faint text.
std::string dimmed(const std::string& text);

// Marks of containers by their position: letters, used again where there are more.
char core_mark(std::size_t number);

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

// A piece for each NUMA node with CPUs: "0 [AAAA ....]", the node's name, then its CPUs by L3
// domain and core with gaps between the domains; several where one would be wider than `width` (0:
// no limit). `cell(cpu)` takes one column, escapes apart.
std::vector<Cells> core_cells(std::vector<topology::Pu> cpus, std::size_t width,
                              const std::function<std::string(topology::Index node)>& name,
                              const std::function<std::string(topology::CpuId cpu)>& cell);

}  // namespace pinion::ctl
