#include "metrics/prometheus/escape.h"

#include "base/utf8.h"

namespace pinion::prometheus {
namespace {

unsigned char at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
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
  const std::size_t length = utf8_length(value, i);
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
