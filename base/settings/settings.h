// What an operator can set: each setting has a key in a YAML file and a flag, and the flag wins.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/words.h"

namespace YAML {  // NOLINT(readability-identifier-naming): yaml-cpp's
class Node;
}

namespace pinion::settings {

struct Setting {
  // Of the file; the flag is made from it: "tlsCert" is --tls-cert. Empty: there is a flag alone,
  // which takes no value and sets "true".
  std::string key;
  std::string help;  // ends with the default: "... [none]"; empty: there is no flag
  // Errors: kInvalid, saying what would be right. Not called for what is not given.
  std::function<Status(const std::string& text)> set;
  std::function<std::string()> show;  // the text that set() would take

  // Where it is not as usual:
  std::string flag = {};  // "--reserved-cpus"
  // Of a list or a map in the file. Errors: as of set(); with the line where it knows it.
  std::function<Status(const YAML::Node& value)> set_tree = {};
  // The lines of the file that would give it, in place of show(); empty: it is not set.
  std::function<std::string()> show_lines = {};
};

// "--tls-client-ca" of the key "tlsClientCA", where the setting does not name another one.
[[nodiscard]] std::string flag_of(const Setting& setting);
// Sets it to what a file has for its key. Errors: of set() and set_tree(); kInvalid for a list or a
// map where it takes none.
Status apply_value(const Setting& setting, const YAML::Node& value);

struct Program {
  std::string name;
  std::string about;
  std::string version;
};

struct Invocation {
  bool check_only = false;       // --check-config
  std::optional<int> exit_code;  // --help, --version or a usage error: already printed
};

// Reads the flags and, with --config, the file. Errors: kInvalid, kNotFound or kDenied, naming the
// flag, or the file, line and key.
Result<Invocation> read(int argc, const char* const* argv, const Program& program,
                        const std::vector<Setting>& settings);

enum class OtherKeys { kRefuse, kPassOver };

// What the file holds; set in the order of `settings`. Errors: kInvalid with the line, for text
// that is not one document of YAML, an unknown or doubled key, or a value out of range.
Status read_yaml(const std::string& text, const std::vector<Setting>& settings,
                 OtherKeys others = OtherKeys::kRefuse);
// All settings as the file that would give them.
[[nodiscard]] std::string to_yaml(const std::vector<Setting>& settings);

// The keys whose values differ between two such texts, each once, in order; entries of a map as
// "key: entry".
[[nodiscard]] std::vector<std::string> changed_keys(const std::string& before,
                                                    const std::string& after);

// "true" or "false". Error: kInvalid.
Result<bool> parse_bool(const std::string& text);
// The parts of a list, without blanks before them; of an empty one none.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view list, char separator);
// Of a value that is none of the `known`, which are named. Error: kInvalid.
[[nodiscard]] tl::unexpected<Error> unknown_value(std::string_view value, std::string_view known);
// "line 3", of a node of the file.
[[nodiscard]] std::string at_line(const YAML::Node& node);
// YAML's single quotes: nothing in them but the quote itself has a meaning.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

// Settings of the usual kinds; what they set must outlive them.
Setting text(std::string key, std::string help, std::string& value);
Setting yes_no(std::string key, std::string help, bool& value);
Setting duration(std::string key, std::string help, std::chrono::milliseconds& value,
                 std::chrono::milliseconds least, std::chrono::milliseconds most);
Setting number(std::string key, std::string help, int& value, int least, int most);
// One of a few words.
Setting word(std::string key, std::string help, std::string& value,
             std::vector<std::string_view> words);

// The same of an enum; `words` must outlive it. (clang-tidy sees no move in a template.)
template <class T, std::size_t N>
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Setting word(std::string key, std::string help, T& value, const std::array<Word<T>, N>& words) {
  return {.key = std::move(key),
          .help = std::move(help),
          .set = [&value, &words](const std::string& given) -> Status {
            const auto known = value_of(given, words);
            if (!known) return unknown_value(given, list_of(words));
            value = *known;
            return {};
          },
          .show = [&value, &words] { return std::string(word_of(value, words)); }};
}

// Some of a few words, with commas; empty: none.
template <class T, std::size_t N>
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Setting words(std::string key, std::string help, std::set<T>& values,
              const std::array<Word<T>, N>& table) {
  return {.key = std::move(key),
          .help = std::move(help),
          .set = [&values, &table](const std::string& given) -> Status {
            std::set<T> chosen;
            for (const std::string& one : parts_of(given, ',')) {
              const auto known = value_of(one, table);
              if (!known) return unknown_value(one, list_of(table));
              chosen.insert(*known);
            }
            values = std::move(chosen);
            return {};
          },
          .show =
              [&values, &table] {
                std::string list;
                for (const T value : values) {
                  list.append(list.empty() ? "" : ",").append(word_of(value, table));
                }
                return list;
              }};
}

}  // namespace pinion::settings
