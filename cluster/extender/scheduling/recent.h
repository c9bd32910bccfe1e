// The names that were added last, up to a bound: the oldest is forgotten for a new one.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace pinion::cluster {

class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  void add(std::string name) {
    const auto [added, fresh] = names_.insert(std::move(name));
    if (!fresh) return;
    order_.push_back(added);
    if (order_.size() <= most_) return;
    names_.erase(order_.front());
    order_.pop_front();
  }
  [[nodiscard]] bool contains(std::string_view name) const { return names_.contains(name); }

 private:
  using Names = std::set<std::string, std::less<>>;

  std::size_t most_;
  Names names_;
  std::deque<Names::const_iterator> order_;  // of names_, the oldest first
};

}  // namespace pinion::cluster
