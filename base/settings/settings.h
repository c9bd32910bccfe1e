// What an operator can set: each setting has a key in a YAML file and a flag, and the flag wins.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pinion::settings {

struct Setting {
  std::string key;   // of the file; the flag is made from it: "tlsCert" is --tls-cert
  std::string help;  // ends with the default: "... [none]"
  // Errors: kInvalid, saying what would be right. Not called for what is not given.
  std::function<Status(const std::string& text)> set;
  std::function<std::string()> show;  // the text that set() would take
};

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
// What the file holds. Errors: kInvalid with the line, for text that is not YAML, an unknown or
// doubled key, or a value out of range.
Status read_yaml(const std::string& text, const std::vector<Setting>& settings);
// All settings as the file that would give them.
[[nodiscard]] std::string to_yaml(const std::vector<Setting>& settings);

// "true" or "false". Error: kInvalid.
Result<bool> parse_bool(const std::string& text);
// "500ms", "10s", "5m". Error: kInvalid.
Result<std::chrono::milliseconds> parse_duration(const std::string& text);

// Settings of the usual kinds; what they set must outlive them.
Setting text(std::string key, std::string help, std::string& value);
Setting yes_no(std::string key, std::string help, bool& value);
Setting duration(std::string key, std::string help, std::chrono::milliseconds& value,
                 std::chrono::milliseconds least, std::chrono::milliseconds most);
Setting number(std::string key, std::string help, int& value, int least, int most);
// One of a few words.
Setting word(std::string key, std::string help, std::string& value,
             std::vector<std::string_view> words);

}  // namespace pinion::settings
