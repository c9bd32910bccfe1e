// Annotations under our prefix that nothing here knows: a word that is misspelt has no effect.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pinion::policy {

// One warning for each of the first few, and one that says how many more there are. Names of other
// prefixes are passed over, and so is what follows a dot: the container's name.
[[nodiscard]] std::vector<std::string> unknown_annotations(std::span<const std::string_view> names);

}  // namespace pinion::policy
