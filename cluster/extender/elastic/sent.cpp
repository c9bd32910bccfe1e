#include "cluster/extender/elastic/sent.h"

#include <charconv>
#include <limits>

namespace pinion::cluster::elastic {
namespace {

// The number up to the next blank, which is taken off too; 0 for what is none from 1 to `most`.
std::int64_t take_number(std::string_view& text, std::int64_t most) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != ' ') return 0;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()) + 1);
  return value >= 1 && value <= most ? value : 0;
}

}  // namespace

std::optional<Sent> read_sent(std::string_view text) {
  Sent sent;
  sent.before = static_cast<int>(take_number(text, kMostPesSent));
  sent.wanted = static_cast<int>(take_number(text, kMostPesSent));
  sent.at_ms = take_number(text, std::numeric_limits<std::int64_t>::max());
  sent.came_ms = take_number(text, std::numeric_limits<std::int64_t>::max());
  sent.head = text;
  if (sent.before == 0 || sent.wanted == 0 || sent.at_ms == 0 || text.empty()) return std::nullopt;
  return sent;
}

std::string sent_text(const Sent& sent) {
  return std::to_string(sent.before) + " " + std::to_string(sent.wanted) + " " +
         std::to_string(sent.at_ms) + " " +
         (sent.came_ms > 0 ? std::to_string(sent.came_ms) + " " : "") + sent.head;
}

}  // namespace pinion::cluster::elastic
