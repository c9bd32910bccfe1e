// Things that are due at a time of their own. No clock: the caller says what time it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace pinion::cluster {

// Of what is never due, and of what is whatever time it is.
inline constexpr std::int64_t kNeverDue = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kAtOnce = std::numeric_limits<std::int64_t>::min();

// So long after that; kNeverDue where that is too far. Precondition: 0 <= span_ms.
[[nodiscard]] constexpr std::int64_t after(std::int64_t at_ms, std::int64_t span_ms) {
  return at_ms > kNeverDue - span_ms ? kNeverDue : at_ms + span_ms;
}

// Twice as long so many times; kNeverDue where that is too long. Precondition: 0 <= span_ms,
// 0 <= times < 63.
[[nodiscard]] constexpr std::int64_t doubled(std::int64_t span_ms, int times) {
  return span_ms > (kNeverDue >> times) ? kNeverDue : span_ms << times;
}

// The earlier one; nullopt: never.
[[nodiscard]] inline std::optional<std::int64_t> earlier(std::optional<std::int64_t> a,
                                                         std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

template <class Id>
class DueTimes {
 public:
  // It is due then, and at no other time. kNeverDue: it is here, and never due.
  void set(const Id& id, std::int64_t at_ms) {
    const auto [known, fresh] = at_.try_emplace(id, at_ms);
    if (!fresh) {
      if (known->second == at_ms) return;
      order_.erase({known->second, id});
      known->second = at_ms;
    }
    if (at_ms != kNeverDue) order_.emplace(at_ms, id);
  }
  void erase(const Id& id) {
    const auto known = at_.find(id);
    if (known == at_.end()) return;
    order_.erase({known->second, id});
    at_.erase(known);
  }
  [[nodiscard]] bool contains(const Id& id) const { return at_.contains(id); }
  [[nodiscard]] bool empty() const { return at_.empty(); }
  // By id, with the time of each.
  [[nodiscard]] const std::map<Id, std::int64_t>& all() const { return at_; }

  // When the first of them is due; nullopt: none ever is.
  [[nodiscard]] std::optional<std::int64_t> first_ms() const {
    if (order_.empty()) return std::nullopt;
    return order_.begin()->first;
  }
  // Those that are due by now, ascending by time and id.
  [[nodiscard]] std::vector<Id> due(std::int64_t now_ms) const {
    std::vector<Id> due;
    for (const auto& [at_ms, id] : order_) {
      if (at_ms > now_ms) break;
      due.push_back(id);
    }
    return due;
  }
  // The same; they are here no more.
  std::vector<Id> take(std::int64_t now_ms) {
    std::vector<Id> taken = due(now_ms);
    for (const Id& id : taken) erase(id);
    return taken;
  }

 private:
  std::map<Id, std::int64_t> at_;
  std::set<std::pair<std::int64_t, Id>> order_;  // of those that are ever due
};

}  // namespace pinion::cluster
