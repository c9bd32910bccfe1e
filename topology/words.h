// The words by which people and files name the choices of a request: one table for annotations,
// request files and pictures.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "topology/allocate.h"

namespace pinion::topology {

template <class T>
struct Word {
  std::string_view word;
  T value;
};

inline constexpr std::array kAlignWords{
    Word<Align>{"l3", Align::kL3}, Word<Align>{"numa", Align::kNuma},
    Word<Align>{"socket", Align::kSocket}, Word<Align>{"none", Align::kNone}};
inline constexpr std::array kStrengthWords{Word<Strength>{"required", Strength::kRequired},
                                           Word<Strength>{"preferred", Strength::kPreferred}};
inline constexpr std::array kSmtWords{
    Word<Smt>{"prefer-full", Smt::kPreferFull}, Word<Smt>{"full-core", Smt::kFullCore},
    Word<Smt>{"one-per-core", Smt::kOnePerCore}, Word<Smt>{"pack", Smt::kPack}};
inline constexpr std::array kMemoryPolicyWords{
    Word<MemoryPolicy>{"bind", MemoryPolicy::kBind},
    Word<MemoryPolicy>{"preferred", MemoryPolicy::kPreferred},
    Word<MemoryPolicy>{"any", MemoryPolicy::kAny}};
inline constexpr std::array kProfileWords{Word<Profile>{"cpu", Profile::kCpu},
                                          Word<Profile>{"memory", Profile::kMemory},
                                          Word<Profile>{"network", Profile::kNetwork}};
// Whether isolated CPUs are asked for.
inline constexpr std::array kIsolationWords{Word<bool>{"none", false},
                                            Word<bool>{"isolated", true}};

// What the word stands for; nothing for an unknown one.
template <class T, std::size_t N>
[[nodiscard]] std::optional<T> value_of(std::string_view word,
                                        const std::array<Word<T>, N>& words) {
  for (const auto& [known, value] : words) {
    if (word == known) return value;
  }
  return std::nullopt;
}

// The word for the value; empty for one that has none (Profile::kNone).
template <class T, std::size_t N>
[[nodiscard]] std::string_view word_of(T value, const std::array<Word<T>, N>& words) {
  for (const auto& entry : words) {
    if (entry.value == value) return entry.word;
  }
  return {};
}

// All words of the table: "required, preferred".
template <class T, std::size_t N>
[[nodiscard]] std::string list_of(const std::array<Word<T>, N>& words) {
  std::string list;
  for (const auto& entry : words) list.append(list.empty() ? "" : ", ").append(entry.word);
  return list;
}

}  // namespace pinion::topology
