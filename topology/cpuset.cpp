#include "topology/cpuset.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/utf8.h"

namespace pinion::topology {
namespace {

struct Run {
  int first = 0;
  int last = 0;
  int used = 1;  // of every `group` ids the first `used` are members
  int group = 1;
};

// Takes a decimal number off the front of `text`; nothing when there is none or it is too large.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

// "N", "N-M" or "N-M:used/group".
std::optional<Run> parse_run(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Run run;
  const auto first = take_number(text);
  if (!first) return std::nullopt;
  run.first = run.last = *first;
  if (take(text, '-')) {
    if (text.empty()) return std::nullopt;
    const auto last = take_number(text);
    if (!last || *last < run.first) return std::nullopt;
    run.last = *last;
    if (take(text, ':')) {
      if (text.empty()) return std::nullopt;
      const auto used = take_number(text);
      if (!used || !take(text, '/') || text.empty()) return std::nullopt;
      const auto group = take_number(text);
      if (!group || *used < 1 || *group < *used) return std::nullopt;
      run.used = *used;
      run.group = *group;
    }
  }
  if (!text.empty()) return std::nullopt;
  return run;
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

template <class Tag, int Capacity>
IdSet<Tag, Capacity> IdSet<Tag, Capacity>::range(int first, int last) {
  IdSet set;
  for (int id = first; id <= last; ++id) set.add(id);
  return set;
}

template <class Tag, int Capacity>
Result<IdSet<Tag, Capacity>> IdSet<Tag, Capacity>::parse(std::string_view list) {
  IdSet set;
  std::string_view rest = trim(list);
  if (rest.empty()) return set;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const auto run = parse_run(part);
    if (!run) {
      const std::string at = " at '" + std::string(cut_utf8(part, 64)) + "'";
      return failure(Errc::kInvalid, "not a list of numbers such as '0-3,8': '" +
                                         std::string(cut_utf8(list, 64)) + "'" +
                                         (part == list ? "" : at));
    }
    if (run->last >= Capacity) {
      return failure(Errc::kInvalid, "id " + std::to_string(run->last) +
                                         " is above the largest supported one, " +
                                         std::to_string(Capacity - 1));
    }
    for (int id = run->first; id <= run->last; ++id) {
      if ((id - run->first) % run->group < run->used) set.add(id);
    }
    if (comma == std::string_view::npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

template <class Tag, int Capacity>
std::string IdSet<Tag, Capacity>::to_string() const {
  std::string text;
  for (int first = next(0); first >= 0;) {
    int last = first;
    while (contains(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = next(last + 1);
  }
  return text;
}

template <class Tag, int Capacity>
void IdSet<Tag, Capacity>::grow(std::size_t words) {
  if (words > this->words()) high_.resize(words - low_.size());
}

template <class Tag, int Capacity>
void IdSet<Tag, Capacity>::add(int id) {
  if (id < 0 || id >= Capacity) std::abort();
  grow(word(id) + 1);
  at(word(id)) |= std::uint64_t{1} << bit(id);
}

template <class Tag, int Capacity>
void IdSet<Tag, Capacity>::remove(int id) {
  if (!contains(id)) return;
  at(word(id)) &= ~(std::uint64_t{1} << bit(id));
}

template <class Tag, int Capacity>
bool IdSet<Tag, Capacity>::empty() const {
  return next(0) < 0;
}

template <class Tag, int Capacity>
int IdSet<Tag, Capacity>::count() const {
  int total = 0;
  for (std::size_t i = 0; i < words(); ++i) total += std::popcount(at(i));
  return total;
}

template <class Tag, int Capacity>
int IdSet<Tag, Capacity>::next(int from) const {
  if (from < 0) from = 0;
  std::uint64_t masked = at(word(from)) & (~std::uint64_t{0} << bit(from));
  for (std::size_t i = word(from);;) {
    if (masked != 0) return static_cast<int>(i * 64) + std::countr_zero(masked);
    if (++i >= words()) return -1;
    masked = at(i);
  }
}

template <class Tag, int Capacity>
IdSet<Tag, Capacity> IdSet<Tag, Capacity>::lowest(int n) const {
  IdSet set;
  for (int id = next(0); id >= 0 && n > 0; id = next(id + 1), --n) set.add(id);
  return set;
}

template <class Tag, int Capacity>
bool IdSet<Tag, Capacity>::intersects(const IdSet& other) const {
  for (std::size_t i = 0; i < std::min(words(), other.words()); ++i) {
    if ((at(i) & other.at(i)) != 0) return true;
  }
  return false;
}

template <class Tag, int Capacity>
bool IdSet<Tag, Capacity>::is_subset_of(const IdSet& other) const {
  for (std::size_t i = 0; i < words(); ++i) {
    if ((at(i) & ~other.at(i)) != 0) return false;
  }
  return true;
}

template <class Tag, int Capacity>
int IdSet<Tag, Capacity>::count_common(const IdSet& other) const {
  int total = 0;
  for (std::size_t i = 0; i < std::min(words(), other.words()); ++i)
    total += std::popcount(at(i) & other.at(i));
  return total;
}

template <class Tag, int Capacity>
IdSet<Tag, Capacity>& IdSet<Tag, Capacity>::operator|=(const IdSet& other) {
  grow(other.words());
  for (std::size_t i = 0; i < other.words(); ++i) at(i) |= other.at(i);
  return *this;
}

template <class Tag, int Capacity>
IdSet<Tag, Capacity>& IdSet<Tag, Capacity>::operator&=(const IdSet& other) {
  for (std::size_t i = 0; i < words(); ++i) at(i) &= other.at(i);
  return *this;
}

template <class Tag, int Capacity>
IdSet<Tag, Capacity>& IdSet<Tag, Capacity>::operator-=(const IdSet& other) {
  for (std::size_t i = 0; i < std::min(words(), other.words()); ++i) at(i) &= ~other.at(i);
  return *this;
}

template <class Tag, int Capacity>
bool IdSet<Tag, Capacity>::operator==(const IdSet& other) const {
  for (std::size_t i = 0; i < std::max(words(), other.words()); ++i) {
    if (at(i) != other.at(i)) return false;
  }
  return true;
}

template class IdSet<struct CpuTag, 4096>;
template class IdSet<struct NodeTag, 1024>;

}  // namespace pinion::topology
