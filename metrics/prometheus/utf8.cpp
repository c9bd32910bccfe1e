#include "metrics/prometheus/utf8.h"

namespace pinion::prometheus {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

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

// Bytes of the valid character at `i`, or 0.
std::size_t valid_length(std::string_view text, std::size_t i) {
  const unsigned char lead = at(text, i);
  const std::size_t length = length_by_lead(lead);
  if (length < 2) return length;
  for (std::size_t k = 1; k < length; ++k) {
    if (!continues(text, i + k)) return 0;
  }
  return second_is_legal(lead, at(text, i + 1)) ? length : 0;
}

bool plain(unsigned char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

// One that is not plain; returns how many bytes it took.
std::size_t append_special(std::string& text, std::string_view value, std::size_t i) {
  switch (value[i]) {
    case '\\':
      text += "\\\\";
      return 1;
    case '"':
      text += "\\\"";
      return 1;
    case '\n':
      text += "\\n";
      return 1;
    case '\t':
      text += '\t';
      return 1;
    default:
      break;
  }
  const std::size_t length = valid_length(value, i);
  if (length < 2) {  // a control character, or no character at all
    text += kReplacement;
    return 1;
  }
  text += value.substr(i, length);
  return length;
}

}  // namespace

void append_escaped(std::string& text, std::string_view value) {
  for (std::size_t i = 0; i < value.size();) {
    std::size_t end = i;
    while (end < value.size() && plain(at(value, end))) ++end;
    text.append(value.substr(i, end - i));
    if (end == value.size()) return;
    i = end + append_special(text, value, end);
  }
}

}  // namespace pinion::prometheus
