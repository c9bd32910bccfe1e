// One map of a YAML or JSON file that a human wrote, read key by key: errors name the line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/utf8.h"
#include "base/words.h"
#include "base/yaml_documents.h"

namespace pinion {

// "line 3: "; empty where it is not known.
[[nodiscard]] std::string yaml_line(const YAML::Mark& mark);
[[nodiscard]] tl::unexpected<Error> yaml_error(const YAML::Node& node, const std::string& text);

// read(root) of the text's one document; an error that names the line where the text, or what is
// taken from it, is not such YAML, or where a second document begins.
template <class Read>
std::invoke_result_t<Read, const YAML::Node&> read_yaml(const std::string& text, const Read& read) {
  const auto document = only_document(text);
  if (!document) return failure(document.error());
  try {
    return read(YAML::Load(*document));
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid, yaml_line(error.mark) + error.msg);
  }
}

// The first error is kept; what is read after it does not count.
class YamlEntry {
 public:
  // A key that is not among `keys`, or given twice, is an error. Precondition: `node` is a map.
  YamlEntry(const YAML::Node& node, std::span<const std::string_view> keys);

  [[nodiscard]] bool has(const char* key) const { return static_cast<bool>(node_[key]); }
  [[nodiscard]] YAML::Node operator[](const char* key) const { return node_[key]; }

  std::string text(const char* key, std::string otherwise = "");
  // A whole number from `least` to `most`.
  int number(const char* key, int otherwise, int most, int least = 1);

  template <class T, std::size_t N>
  T word(const char* key, const std::array<Word<T>, N>& words, T otherwise) {
    if (!has(key)) return otherwise;
    const std::string value = text(key);
    if (const auto known = value_of(value, words)) return *known;
    fail(node_[key], std::string(key) + ": unknown value " + quoted_value(value) +
                         ", use one of: " + list_of(words));
    return otherwise;
  }

  void fail(const YAML::Node& where, const std::string& text);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  YAML::Node node_;
  std::optional<Error> error_;
};

}  // namespace pinion
