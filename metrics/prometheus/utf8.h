// Names from pods as label values. Pure text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pinion::prometheus {

// Appends `value` as it may stand between the quotes of a label: backslash, quote and newline
// escaped; U+FFFD for each byte that is no part of valid UTF-8 (RFC 3629: no surrogates, nothing
// overlong, nothing above U+10FFFF) and for each control character but newline and tab.
void append_escaped(std::string& text, std::string_view value);

}  // namespace pinion::prometheus
