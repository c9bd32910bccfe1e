#include "base/utf8.h"

#include <algorithm>

namespace pinion {
namespace {

unsigned char at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool continues(std::string_view text, std::size_t i) {
  return i < text.size() && (at(text, i) & 0xC0U) == 0x80U;
}

// Bytes of the character that begins with this byte by its own word; 0: none begins so.
std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// The second byte's range is narrower after four lead bytes (RFC 3629, section 4).
bool second_is_legal(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second <= 0x9F;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second <= 0x8F;
    default:
      return true;
  }
}

// C0, DEL and C1 (U+0080 to U+009F), with which a terminal is told things, too; the separators of
// lines and what turns the direction of text (U+2028 to U+202E, U+2066 to U+2069).
bool is_control(std::string_view character) {
  const unsigned char first = at(character, 0);
  if (first == 0xE2) {
    const unsigned char second = at(character, 1);
    const unsigned char third = at(character, 2);
    return (second == 0x80 && third >= 0xA8 && third <= 0xAE) ||
           (second == 0x81 && third >= 0xA6 && third <= 0xA9);
  }
  return first < 0x20 || first == 0x7F || (first == 0xC2 && at(character, 1) < 0xA0);
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t i) {
  const unsigned char lead = at(text, i);
  const std::size_t length = length_by_lead(lead);
  if (length < 2) return length;
  for (std::size_t k = 1; k < length; ++k) {
    if (!continues(text, i + k)) return 0;
  }
  return second_is_legal(lead, at(text, i + 1)) ? length : 0;
}

std::string clean_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const std::string_view character = text.substr(i, length);
    clean += length == 0 || is_control(character) ? kReplacement : character;
    i += std::max<std::size_t>(length, 1);
  }
  return clean;
}

std::string_view cut_utf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && continues(text, limit)) --limit;
  return text.substr(0, limit);
}

std::string quoted_value(std::string_view text) {
  constexpr std::size_t most = 64;
  std::string quoted = "'";
  quoted += clean_text(cut_utf8(text, most));
  return quoted += '\'';
}

}  // namespace pinion
