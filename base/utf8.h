// Text from outside: made valid UTF-8 (RFC 3629: no surrogates, nothing overlong, nothing above
// U+10FFFF), and of limited length. A message of protobuf that holds anything else is read by
// nobody, nor is a scrape.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pinion {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the valid character that begins at `i`; 0: none begins there. Precondition: i is in it.
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t i);

// U+FFFD for each byte that is no part of valid UTF-8, and for each control character. What comes
// from outside, as names and annotations, is cleaned once, where it enters.
[[nodiscard]] std::string clean_text(std::string_view text);

// At most `limit` bytes from the front, no character cut in two: what begins as valid text ends so.
[[nodiscard]] std::string_view cut_utf8(std::string_view text, std::size_t limit);

// A value from outside as a message shows it: clean, cut to 64 bytes, between single quotes.
[[nodiscard]] std::string quoted_value(std::string_view text);

}  // namespace pinion
