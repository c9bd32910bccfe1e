// From names to small numbers, for lists of thousands of names that must be looked up in a fraction
// of a millisecond: everything lies in two arrays, where a node-based map would miss the cache four
// times for each name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinion::cluster {

class NameTable {
 public:
  // Precondition: number >= 0; neither the name nor the number is there.
  void insert(std::string_view name, int number);
  // Nothing happens when it is not there.
  void erase(std::string_view name);
  [[nodiscard]] int find(std::string_view name) const;  // -1: not there

 private:
  // Open addressing with linear probing; at most half full.
  struct Slot {
    std::uint32_t hash = 0;
    int number = -1;  // -1: free
  };

  [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  void grow();

  std::vector<Slot> slots_;         // a power of two
  std::vector<std::string> names_;  // by number
  std::size_t count_ = 0;
};

}  // namespace pinion::cluster
