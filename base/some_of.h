// The first few of many, for a line of text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/words.h"

namespace pinion {

// "a, b, c and 4 more".
[[nodiscard]] inline std::string some_of(const std::vector<std::string>& words,
                                         std::size_t shown = 5) {
  std::string text = joined(std::span(words).first(std::min(shown, words.size())), ", ");
  if (words.size() > shown) text += " and " + std::to_string(words.size() - shown) + " more";
  return text;
}

}  // namespace pinion
