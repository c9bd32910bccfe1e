#include "cluster/core/name_table.h"

#include <functional>

namespace pinion::cluster {
namespace {

constexpr std::size_t kFirstSize = 64;

std::uint32_t hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
}

}  // namespace

// The slot that holds the name, or else the free one where a search for it ends.
std::size_t NameTable::slot_of(std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].number >= 0) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && names_[static_cast<std::size_t>(slot.number)] == name) break;
    at = (at + 1) & mask;
  }
  return at;
}

void NameTable::insert(std::string_view name, int number) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  const auto position = static_cast<std::size_t>(number);
  if (position >= names_.size()) names_.resize(position + 1);
  names_[position] = name;
  const std::uint32_t hash = hash_of(name);
  slots_[slot_of(name, hash)] = {.hash = hash, .number = number};
  ++count_;
}

void NameTable::erase(std::string_view name) {
  if (count_ == 0) return;
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = slot_of(name, hash_of(name));
  if (slots_[hole].number < 0) return;
  names_[static_cast<std::size_t>(slots_[hole].number)].clear();
  --count_;
  // What comes after it moves up, so that no search ends too early at the hole.
  for (std::size_t at = (hole + 1) & mask; slots_[at].number >= 0; at = (at + 1) & mask) {
    const std::size_t home = slots_[at].hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = Slot();
}

int NameTable::find(std::string_view name) const {
  return slots_.empty() ? -1 : slots_[slot_of(name, hash_of(name))].number;
}

void NameTable::grow() {
  const std::vector<Slot> before = std::move(slots_);
  slots_.assign(before.empty() ? kFirstSize : 2 * before.size(), Slot());
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.number < 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].number >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace pinion::cluster
