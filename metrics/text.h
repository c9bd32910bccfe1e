// Words, lines and numbers of the kernel's texts, for parsers.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace pinion::metrics::text {

inline constexpr std::string_view kBlanks = " \t\n";

inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The whole of `text` as a decimal number; not set for anything else, or one that does not fit.
template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// Cuts the first blank-separated word off `rest`; empty at the end.
inline std::string_view next_word(std::string_view& rest) {
  const auto start = rest.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return rest = {};
  rest.remove_prefix(start);
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

// Cuts the first line off `rest`, without its newline.
inline std::string_view next_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

// The rest of `word` after `prefix`, where it begins with that.
inline std::optional<std::string_view> after(std::string_view word, std::string_view prefix) {
  if (word.substr(0, prefix.size()) != prefix) return std::nullopt;
  return word.substr(prefix.size());
}

// "Key:<blanks>value" -> value, when the line has that key.
inline std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  if (line.size() <= key.size() || line.substr(0, key.size()) != key || line[key.size()] != ':') {
    return std::nullopt;
  }
  return trimmed(line.substr(key.size() + 1));
}

// value * factor, where that fits.
inline std::optional<std::uint64_t> times(std::uint64_t value, std::uint64_t factor) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(value, factor, &product)) return std::nullopt;
  return product;
}

// A piece of text for an error: bounded, so that a broken file makes no broken log.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t shown = 60;
  if (text.size() <= shown) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, shown)) + "...'";
}

// "KIND: line 'LINE'", kInvalid.
inline tl::unexpected<Error> bad_line(std::string_view kind, std::string_view line) {
  return failure(Errc::kInvalid, std::string(kind) + ": line " + quoted(line));
}

}  // namespace pinion::metrics::text
