#include "agent/noise/knob.h"

#include <algorithm>

namespace pinion::noise {
namespace {

constexpr std::size_t kLongestNumber = 9;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kLongestNumber &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// rcuog/0 (grace periods of a group), rcuop/0, rcuos/0, rcuob/0 (callbacks of one CPU).
bool is_rcu_thread(std::string_view name) {
  constexpr std::string_view begin = "rcuo";
  if (!name.starts_with(begin)) return false;
  name.remove_prefix(begin.size());
  return name.size() > 2 && std::string_view("bgps").find(name[0]) != std::string_view::npos &&
         name[1] == '/' && is_number(name.substr(2));
}

bool is_name(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kIrq:
      return name == kDefaultIrq || is_number(name);
    case Kind::kWorkqueue:
      return name == kUnbound || name == kWriteback;
    case Kind::kRcu:
      break;
  }
  return is_rcu_thread(name);
}

}  // namespace

std::optional<Knob> make_knob(Kind kind, std::string_view name) {
  if (!is_name(kind, name)) return std::nullopt;
  return Knob{.kind = kind, .name = std::string(name)};
}

std::string to_string(const Knob& knob) {
  return std::string(word_of(knob.kind, kKindWords)) + ' ' + knob.name;
}

}  // namespace pinion::noise
