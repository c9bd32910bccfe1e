// Columns of text on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pinion {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell, two blanks between; the last one is free and no line ends
// in a blank. `right` names the columns (by position) that are aligned to the right. Cells are
// ASCII (see plain()).
std::string table(const std::vector<Row>& rows, const std::vector<std::size_t>& right = {});

// Text from outside made safe for a terminal: every byte that is not printable ASCII becomes '?',
// so that a name can neither move the cursor nor break a column.
std::string plain(std::string_view text);

// The text in at most `width` columns: the middle goes first, "default/..-7/rank", because names of
// pods and containers differ at their ends. Precondition: ASCII.
std::string shortened(std::string_view text, std::size_t width);

// A number for a human in at most six characters where it is below 10^15: "0", "0.012", "3.97",
// "123", "45.2k", "1.20M". Below 0.0005 in amount it is "0.000". What is not finite is "-".
std::string figure_text(double value);

}  // namespace pinion
