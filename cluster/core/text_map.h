// A map by ids that is looked into: faster than a sorted one where there are many. Who goes through
// it sorts what is found, so that no decision depends on the order of its entries.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pinion::cluster {

struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace pinion::cluster
