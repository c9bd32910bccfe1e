#include "cluster/slurm/hostlist.h"

#include <charconv>

namespace pinion::slurm {
namespace {

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

// "3" or "3-5" or "003-017".
struct Range {
  int first = 0;
  int last = 0;
  std::size_t width = 0;  // of the first number as written
};

std::optional<Range> range_of(std::string_view text) {
  const auto dash = text.find('-');
  const std::string_view from = text.substr(0, dash);
  const auto first = number_in(from);
  const auto last = dash == std::string_view::npos ? first : number_in(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return Range{.first = *first, .last = *last, .width = from.size()};
}

std::string padded(int number, std::size_t width) {
  std::string text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

// Of a name: what stands before, in and behind its brackets.
bool add_range(std::string_view head, std::string_view range, std::string_view tail,
               std::vector<std::string>& hosts) {
  const auto numbers = range_of(range);
  if (!numbers) return false;
  for (int i = numbers->first; i <= numbers->last; ++i) {
    if (hosts.size() == kMostHosts) return false;
    hosts.emplace_back(head).append(padded(i, numbers->width)).append(tail);
  }
  return true;
}

bool add_entry(std::string_view entry, std::vector<std::string>& hosts) {
  const auto open = entry.find('[');
  const auto close = entry.find(']');
  if (open == std::string_view::npos && close == std::string_view::npos) {
    if (entry.empty() || hosts.size() == kMostHosts) return false;
    hosts.emplace_back(entry);
    return true;
  }
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return false;
  }
  const std::string_view head = entry.substr(0, open);
  const std::string_view tail = entry.substr(close + 1);
  if (tail.find_first_of("[]") != std::string_view::npos) return false;
  std::string_view inside = entry.substr(open + 1, close - open - 1);
  if (inside.find('[') != std::string_view::npos) return false;
  while (true) {
    const auto comma = inside.find(',');
    if (!add_range(head, inside.substr(0, comma), tail, hosts)) return false;
    if (comma == std::string_view::npos) return true;
    inside.remove_prefix(comma + 1);
  }
}

// Where the entry that begins at `from` ends: a comma outside of brackets.
std::size_t end_of_entry(std::string_view list, std::size_t from) {
  bool inside = false;
  for (std::size_t at = from; at < list.size(); ++at) {
    if (list[at] == '[') inside = true;
    if (list[at] == ']') inside = false;
    if (list[at] == ',' && !inside) return at;
  }
  return list.size();
}

}  // namespace

std::optional<std::vector<std::string>> expand_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  if (list.empty()) return hosts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = end_of_entry(list, at);
    if (!add_entry(list.substr(at, end - at), hosts)) return std::nullopt;
    at = end + 1;
  }
  return hosts;
}

std::vector<int> first_tasks(std::string_view list, std::size_t most) {
  std::vector<int> tasks;
  list = list.substr(0, list.find('%'));
  while (!list.empty()) {
    const auto comma = list.find(',');
    std::string_view part = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    int step = 1;
    if (const auto colon = part.find(':'); colon != std::string_view::npos) {
      step = number_in(part.substr(colon + 1)).value_or(0);
      part = part.substr(0, colon);
    }
    const auto range = range_of(part);
    if (!range || step < 1) return tasks;
    for (std::int64_t i = range->first; i <= range->last; i += step) {
      if (tasks.size() == most) return tasks;
      tasks.push_back(static_cast<int>(i));
    }
  }
  return tasks;
}

}  // namespace pinion::slurm
