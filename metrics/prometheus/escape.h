// Names from pods as label values. Pure text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pinion::prometheus {

// Appends `value` as it may stand between the quotes of a label: backslash, quote and newline
// escaped; U+FFFD as by clean_text() of base/utf8.h, but newline and tab stay.
void append_escaped(std::string& text, std::string_view value);

}  // namespace pinion::prometheus
