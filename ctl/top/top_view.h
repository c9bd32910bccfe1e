// The table of `pinionctl top`: a pure function of a snapshot and of what the terminal is like.
#pragma once

#include <cstddef>
#include <string>

#include "ctl/node/container_rows.h"
#include "proto/pinion/v1/node.pb.h"

namespace pinion::ctl {

struct TopView {
  std::size_t width = 0;   // columns; 0: as many as it takes
  std::size_t height = 0;  // lines; 0: as many as it takes, and no bar of cores
  bool color = false;      // ANSI colours and attributes; else printable ASCII alone
  bool keys = false;       // a last line that says which key does what
  SortKey sort = SortKey::kCpu;
  std::string clock;    // shown in the first line, as it is
  std::string message;  // a line of its own, above the table; "" for none
};

// A line about the node, the bar of its cores (each CPU one character, coloured by its container,
// a gap between L3 domains, brackets around NUMA nodes), and a line for each live container. A
// column that no container has a value in is left out; where the width does not do, names are
// shortened, then columns are left out, the last one first but never the one that is sorted by.
// Every line ends with a newline.
std::string render_top(const v1::Snapshot& snapshot, const TopView& view);

}  // namespace pinion::ctl
