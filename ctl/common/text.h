// Small helpers for text on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace pinion::ctl {

inline constexpr std::size_t kPageWidth = 100;  // columns

// "64.0 GiB", "512 MiB", "48 KiB"; "0" for nothing. Binary units, GiB with one decimal.
std::string human_bytes(topology::Bytes bytes);

// "1 core", "2 cores".
std::string counted(std::size_t count, const std::string& singular, const std::string& plural);

// `head`, then the words with `gap` between them; a line that would pass kPageWidth is continued on
// the next one, below the first word. Ends with a newline.
std::string flow(const std::string& head, const std::vector<std::string>& words,
                 const std::string& gap = " ");

// The kernel's list of CPUs or nodes in pieces, "0-3,", "8": words for flow() with no gap.
std::vector<std::string> list_words(const std::string& list);

// As flow() with blanks between, for words of equal width: rows of equal length where they do not
// fit on one.
std::string grid(const std::string& head, const std::vector<std::string>& cells);

}  // namespace pinion::ctl
