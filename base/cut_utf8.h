// Text of limited length.
#pragma once

#include <cstddef>
#include <string_view>

namespace pinion {

// At most `limit` bytes from the front, no UTF-8 character cut in two: what begins as valid text
// ends so, and may stand in a message of protobuf, which no reader takes otherwise.
[[nodiscard]] inline std::string_view cut_utf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  constexpr unsigned int top_bits = 0xC0;
  constexpr unsigned int continues = 0x80;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & top_bits) == continues) --limit;
  return text.substr(0, limit);
}

}  // namespace pinion
