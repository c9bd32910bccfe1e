// Sets of small ids as values: CpuSet (logical CPUs, the kernel's numbers) and NodeSet (NUMA
// nodes, the kernel's numbers). Small, as a fleet of machines has millions of them: a set uses the
// heap only where it has had an id that few machines have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pinion::topology {

using CpuId = int;   // the kernel's number of a logical CPU (hwloc: PU os_index)
using NodeId = int;  // the kernel's number of a NUMA node

template <class Tag, int Capacity>
class IdSet {
  static_assert(Capacity % 1024 == 0);

 public:
  static constexpr int kCapacity = Capacity;  // ids are 0 .. kCapacity-1

  IdSet() = default;
  IdSet(std::initializer_list<int> ids) {
    for (int id : ids) add(id);
  }

  // All ids first..last, both included. Precondition: 0 <= first <= last < kCapacity.
  static IdSet range(int first, int last);

  // Reads the kernel's list format, "0-3,8,10-11"; also strides as the kernel accepts them
  // ("0-8:2/4"). Blanks and one trailing newline are allowed around the text; the empty text is
  // the empty set. Overlapping ranges are accepted, as the kernel accepts them.
  // Errors: kInvalid with the offending part for anything else, or an id >= kCapacity.
  static Result<IdSet> parse(std::string_view list);

  // The kernel's list format, ascending, ranges joined: "0-3,8". Empty set: "".
  [[nodiscard]] std::string to_string() const;

  void add(int id);     // precondition: 0 <= id < kCapacity
  void remove(int id);  // an id outside the capacity is not a member: nothing happens
  [[nodiscard]] bool contains(int id) const {
    return id >= 0 && ((at(word(id)) >> bit(id)) & 1U) != 0;
  }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] int count() const;
  [[nodiscard]] int first() const { return next(0); }  // -1 when empty
  [[nodiscard]] int next(int from) const;              // smallest member >= from, or -1
  // The n smallest members (all of them when there are fewer).
  [[nodiscard]] IdSet lowest(int n) const;

  [[nodiscard]] bool intersects(const IdSet& other) const;
  [[nodiscard]] bool is_subset_of(const IdSet& other) const;
  // Size of the intersection, without making it.
  [[nodiscard]] int count_common(const IdSet& other) const;

  IdSet& operator|=(const IdSet& other);
  IdSet& operator&=(const IdSet& other);
  IdSet& operator-=(const IdSet& other);
  friend IdSet operator|(IdSet a, const IdSet& b) { return std::move(a |= b); }
  friend IdSet operator&(IdSet a, const IdSet& b) { return std::move(a &= b); }
  friend IdSet operator-(IdSet a, const IdSet& b) { return std::move(a -= b); }
  bool operator==(const IdSet& other) const;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using pointer = const int*;
    using reference = int;

    Iterator() = default;
    Iterator(const IdSet* set, int at) : set_(set), at_(at) {}
    int operator*() const { return at_; }
    Iterator& operator++() {
      at_ = set_->next(at_ + 1);
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const IdSet* set_ = nullptr;
    int at_ = -1;
  };
  [[nodiscard]] Iterator begin() const { return {this, first()}; }
  [[nodiscard]] Iterator end() const { return {this, -1}; }

 private:
  static constexpr std::size_t word(int id) { return static_cast<std::size_t>(id) / 64; }
  static constexpr unsigned bit(int id) { return static_cast<unsigned>(id) % 64; }

  [[nodiscard]] std::size_t words() const { return low_.size() + high_.size(); }
  // The word; those past the last one are zero.
  [[nodiscard]] std::uint64_t at(std::size_t i) const {
    if (i < low_.size()) return low_[i];
    return i < words() ? high_[i - low_.size()] : 0;
  }
  // Precondition: i < words().
  std::uint64_t& at(std::size_t i) { return i < low_.size() ? low_[i] : high_[i - low_.size()]; }
  void grow(std::size_t words);  // to at least so many

  std::array<std::uint64_t, Capacity / 1024> low_{};  // 256 CPUs, 64 nodes
  std::vector<std::uint64_t> high_;                   // the words after those
};

using CpuSet = IdSet<struct CpuTag, 4096>;
using NodeSet = IdSet<struct NodeTag, 1024>;

extern template class IdSet<struct CpuTag, 4096>;
extern template class IdSet<struct NodeTag, 1024>;

}  // namespace pinion::topology
