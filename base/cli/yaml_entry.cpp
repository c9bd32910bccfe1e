#include "base/cli/yaml_entry.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/utf8.h"

namespace pinion {

std::string yaml_line(const YAML::Mark& mark) {
  return mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
}

tl::unexpected<Error> yaml_error(const YAML::Node& node, const std::string& text) {
  return failure(Errc::kInvalid, yaml_line(node.Mark()) + text);
}

YamlEntry::YamlEntry(const YAML::Node& node, std::span<const std::string_view> keys) : node_(node) {
  std::set<std::string> seen;
  for (const auto& pair : node_) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(pair.first, "unknown key " + quoted_value(key) + "; known are: " + joined(keys, ", "));
    } else if (!seen.insert(key).second) {
      fail(pair.first, "key " + quoted_value(key) + " is given twice");
    }
  }
}

std::string YamlEntry::text(const char* key, std::string otherwise) {
  const YAML::Node value = node_[key];
  if (!value) return otherwise;
  if (!value.IsScalar() || value.Scalar().empty()) {
    fail(value, std::string(key) + " must be a word");
    return otherwise;
  }
  return value.Scalar();
}

int YamlEntry::number(const char* key, int otherwise, int most, int least) {
  const YAML::Node value = node_[key];
  if (!value) return otherwise;
  int result = 0;
  const std::string digits = value.IsScalar() ? value.Scalar() : "";
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      result < least || result > most) {
    fail(value, std::string(key) + " must be a whole number from " + std::to_string(least) +
                    " to " + std::to_string(most));
  }
  return result;
}

void YamlEntry::fail(const YAML::Node& where, const std::string& text) {
  if (!error_) error_ = yaml_error(where, text).value();
}

}  // namespace pinion
