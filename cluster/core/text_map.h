// A map by ids that is only looked into, never gone through: faster than a sorted one where there
// are many. What order its entries have is nobody's business, so that no decision depends on it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pinion::cluster {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace pinion::cluster
