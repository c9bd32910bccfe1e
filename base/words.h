// Words for the values of an enum: one table for reading and for writing.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace pinion {

template <class T>
struct Word {
  std::string_view word;
  T value;
};

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

// "a, b, c", with ", " between them.
template <class Texts>
[[nodiscard]] std::string joined(const Texts& texts, std::string_view between) {
  std::string list;
  for (const auto& text : texts) list.append(list.empty() ? "" : between).append(text);
  return list;
}

// All words of the table: "required, preferred".
template <class T, std::size_t N>
[[nodiscard]] std::string list_of(const std::array<Word<T>, N>& words) {
  std::string list;
  for (const auto& entry : words) list.append(list.empty() ? "" : ", ").append(entry.word);
  return list;
}

}  // namespace pinion
