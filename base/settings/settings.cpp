#include "base/settings/settings.h"

#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "base/whole_file.h"

namespace pinion::settings {
namespace {

// "tlsClientCA" -> "--tls-client-ca".
std::string flag_of(const std::string& key) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string flag = "--";
  for (std::size_t i = 0; i < key.size(); ++i) {
    const bool begins = upper(key[i]) && (i == 0 || !upper(key[i - 1]));
    if (begins) flag += '-';
    flag += upper(key[i]) ? static_cast<char>(key[i] - 'A' + 'a') : key[i];
  }
  return flag;
}

// YAML's single quotes: nothing in them but the quote itself has a meaning.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

const Setting* find(const std::vector<Setting>& settings, const std::string& key) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& one) { return one.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

Status apply_entry(const YAML::Node& name, const YAML::Node& value,
                   const std::vector<Setting>& settings) {
  const std::string& key = name.Scalar();
  const Setting* setting = find(settings, key);
  if (setting == nullptr) return failure(Errc::kInvalid, "unknown key '" + key + "'");
  if (!value.IsScalar()) return failure(Errc::kInvalid, key + ": expected a single value");
  Status done = setting->set(value.Scalar());
  return done ? done : failure(done.error().within(key));
}

std::string at_line(const YAML::Node& node) {
  return "line " + std::to_string(node.Mark().line + 1);
}

Status apply_document(const YAML::Node& document, const std::vector<Setting>& settings) {
  if (document.IsNull()) return {};
  if (!document.IsMap()) return failure(Errc::kInvalid, "expected a map of settings");
  std::set<std::string> seen;
  for (const auto& entry : document) {
    Status done =
        entry.first.IsScalar() ? Status() : Status(failure(Errc::kInvalid, "a key is not a word"));
    if (done && !seen.insert(entry.first.Scalar()).second) {
      done = failure(Errc::kInvalid, entry.first.Scalar() + ": set twice");
    }
    if (done) done = apply_entry(entry.first, entry.second, settings);
    if (!done) return failure(done.error().within(at_line(entry.first)));
  }
  return {};
}

Status apply_file(const std::string& path, const std::vector<Setting>& settings) {
  const auto text = read_file(path, 1);
  if (!text) return failure(text.error());
  Status done = read_yaml(*text, settings);
  return done ? done : failure(done.error().within(path));
}

}  // namespace

Status read_yaml(const std::string& text, const std::vector<Setting>& settings) {
  try {
    return apply_document(YAML::Load(text), settings);
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid,
                   "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

Result<Invocation> read(int argc, const char* const* argv, const Program& program,
                        const std::vector<Setting>& settings) {
  CLI::App app(program.about, program.name);
  Invocation invocation;
  std::string file;
  app.add_option("--config", file, "YAML file with the settings below, by their keys");
  app.add_flag("--check-config", invocation.check_only,
               "Print the resulting configuration and exit");
  app.set_version_flag("--version", program.version);
  std::map<std::string, std::string> given;
  for (const Setting& setting : settings) {
    app.add_option_function<std::string>(
        flag_of(setting.key),
        [&given, &setting](const std::string& value) { given[setting.key] = value; }, setting.help);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    invocation.exit_code = app.exit(error) == 0 ? 0 : 2;
    return invocation;
  }
  if (!file.empty()) {
    if (Status done = apply_file(file, settings); !done) return failure(done.error());
  }
  for (const auto& [key, value] : given) {
    if (Status done = find(settings, key)->set(value); !done) {
      return failure(done.error().within(flag_of(key)));
    }
  }
  return invocation;
}

std::string to_yaml(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    text += setting.key + ": " + quoted(setting.show()) + "\n";
  }
  return text;
}

Result<bool> parse_bool(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return failure(Errc::kInvalid, "'" + text + "' is neither true nor false");
}

Result<std::chrono::milliseconds> parse_duration(const std::string& text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(static_cast<const char*>(end), text.data() + text.size());
  const std::map<std::string, long> units = {{"ms", 1}, {"s", 1000}, {"m", 60'000}};
  const auto factor = units.find(unit);
  if (error != std::errc() || factor == units.end() || value <= 0 || value > 3'600'000) {
    return failure(Errc::kInvalid, "'" + text + "' is not a duration such as 500ms, 10s or 5m");
  }
  return std::chrono::milliseconds(value * factor->second);
}

namespace {

std::string duration_text(std::chrono::milliseconds value) {
  const auto count = value.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + "s" : std::to_string(count) + "ms";
}

}  // namespace

Setting text(std::string key, std::string help, std::string& value) {
  return {.key = std::move(key),
          .help = std::move(help),
          .set = [&value](const std::string& given) -> Status {
            const auto control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
            if (std::any_of(given.begin(), given.end(), control)) {
              return failure(Errc::kInvalid, "a control character in it");
            }
            value = given;
            return {};
          },
          .show = [&value] { return value; }};
}

Setting yes_no(std::string key, std::string help, bool& value) {
  return {.key = std::move(key),
          .help = std::move(help),
          .set = [&value](const std::string& given) -> Status {
            const auto on = parse_bool(given);
            if (!on) return failure(on.error());
            value = *on;
            return {};
          },
          .show = [&value] { return std::string(value ? "true" : "false"); }};
}

Setting duration(std::string key, std::string help, std::chrono::milliseconds& value,
                 std::chrono::milliseconds least, std::chrono::milliseconds most) {
  return {.key = std::move(key),
          .help = std::move(help),
          .set = [&value, least, most](const std::string& given) -> Status {
            const auto time = parse_duration(given);
            if (!time) return failure(time.error());
            if (*time < least || *time > most) {
              return failure(Errc::kInvalid, "'" + given + "' is not between " +
                                                 duration_text(least) + " and " +
                                                 duration_text(most));
            }
            value = *time;
            return {};
          },
          .show = [&value] { return duration_text(value); }};
}

Setting number(std::string key, std::string help, int& value, int least, int most) {
  return {.key = std::move(key),
          .help = std::move(help),
          .set = [&value, least, most](const std::string& given) -> Status {
            int read = 0;
            const char* end = given.data() + given.size();
            const auto result = std::from_chars(given.data(), end, read);
            if (result.ec != std::errc() || result.ptr != end || read < least || read > most) {
              return failure(Errc::kInvalid, "'" + given + "' is not a number from " +
                                                 std::to_string(least) + " to " +
                                                 std::to_string(most));
            }
            value = read;
            return {};
          },
          .show = [&value] { return std::to_string(value); }};
}

Setting word(std::string key, std::string help, std::string& value,
             std::vector<std::string_view> words) {
  return {.key = std::move(key),
          .help = std::move(help),
          .set = [&value, words = std::move(words)](const std::string& given) -> Status {
            if (std::find(words.begin(), words.end(), given) != words.end()) {
              value = given;
              return {};
            }
            std::string all;
            for (const auto& one : words) all.append(all.empty() ? "" : ", ").append(one);
            return failure(Errc::kInvalid, "unknown value '" + given + "', use one of: " + all);
          },
          .show = [&value] { return value; }};
}

}  // namespace pinion::settings
