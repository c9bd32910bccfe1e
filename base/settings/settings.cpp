#include "base/settings/settings.h"

#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <utility>

#include "base/duration.h"
#include "base/utf8.h"
#include "base/whole_file.h"
#include "base/yaml_documents.h"

namespace pinion::settings {

std::string flag_of(const Setting& setting) {
  if (!setting.flag.empty()) return setting.flag;
  const std::string& key = setting.key;
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string flag = "--";
  for (std::size_t i = 0; i < key.size(); ++i) {
    const bool begins = upper(key[i]) && (i == 0 || !upper(key[i - 1]));
    if (begins) flag += '-';
    flag += upper(key[i]) ? static_cast<char>(key[i] - 'A' + 'a') : key[i];
  }
  return flag;
}

Status apply_value(const Setting& setting, const YAML::Node& value) {
  if (value.IsScalar()) return setting.set(value.Scalar());
  if (setting.set_tree && (value.IsMap() || value.IsSequence())) return setting.set_tree(value);
  return failure(Errc::kInvalid,
                 value.IsSequence() ? "expected a single value: several go in one text, with commas"
                                    : "expected a single value");
}

namespace {

constexpr std::size_t kMostShown = 64;  // bytes of a key or value in an error

bool is_key(const std::vector<Setting>& settings, const std::string& key) {
  return !key.empty() && std::any_of(settings.begin(), settings.end(),
                                     [&](const Setting& one) { return one.key == key; });
}

struct Entry {
  YAML::Node name;
  YAML::Node value;
};

// What stands in the file, by its keys.
Result<std::map<std::string, Entry>> entries_of(const YAML::Node& document,
                                                const std::vector<Setting>& settings,
                                                OtherKeys others) {
  std::map<std::string, Entry> entries;
  if (document.IsNull()) return entries;
  if (!document.IsMap()) return failure(Errc::kInvalid, "expected a map of settings");
  for (const auto& entry : document) {
    const std::string line = at_line(entry.first) + ": ";
    if (!entry.first.IsScalar()) return failure(Errc::kInvalid, line + "a key is not a word");
    const std::string& key = entry.first.Scalar();
    const std::string shown(cut_utf8(key, kMostShown));
    if (!is_key(settings, key)) {
      if (others == OtherKeys::kPassOver) continue;
      return failure(Errc::kInvalid, std::string(line).append("unknown key '" + shown + "'"));
    }
    if (!entries.emplace(key, Entry{entry.first, entry.second}).second) {
      return failure(Errc::kInvalid, line + shown + ": set twice");
    }
  }
  return entries;
}

Status apply_document(const YAML::Node& document, const std::vector<Setting>& settings,
                      OtherKeys others) {
  const auto entries = entries_of(document, settings, others);
  if (!entries) return failure(entries.error());
  for (const Setting& setting : settings) {
    const auto entry = entries->find(setting.key);
    if (entry == entries->end()) continue;
    Status done = apply_value(setting, entry->second.value);
    if (!done) {
      return failure(done.error().within(setting.key).within(at_line(entry->second.name)));
    }
  }
  return {};
}

Status apply_file(const std::string& path, const std::vector<Setting>& settings) {
  const auto text = read_file(path, 1);
  if (!text) return failure(text.error().within("configuration"));
  Status done = read_yaml(*text, settings);
  return done ? done : failure(done.error().within(path));
}

}  // namespace

std::string at_line(const YAML::Node& node) {
  return "line " + std::to_string(node.Mark().line + 1);
}

std::string yaml_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::vector<std::string> parts_of(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    auto part = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    parts.emplace_back(part);
  }
  return parts;
}

tl::unexpected<Error> unknown_value(std::string_view value, std::string_view known) {
  return failure(Errc::kInvalid, "unknown value '" + std::string(cut_utf8(value, kMostShown)) +
                                     "', use one of: " + std::string(known));
}

Status read_yaml(const std::string& text, const std::vector<Setting>& settings, OtherKeys others) {
  try {
    const auto document = only_document(text);
    if (!document) return failure(document.error());
    return apply_document(YAML::Load(*document), settings, others);
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
  app.failure_message([&program](const CLI::App* wrong, const CLI::Error& error) {
    return program.name + ": " + CLI::FailureMessage::simple(wrong, error);
  });
  std::map<const Setting*, std::string> given;
  for (const Setting& setting : settings) {
    if (setting.help.empty()) continue;
    if (setting.key.empty()) {  // a switch
      app.add_flag_callback(
          setting.flag, [&given, &setting] { given[&setting] = "true"; }, setting.help);
      continue;
    }
    app.add_option_function<std::string>(
        flag_of(setting), [&given, &setting](const std::string& value) { given[&setting] = value; },
        setting.help);
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
  for (const Setting& setting : settings) {
    const auto value = given.find(&setting);
    if (value == given.end()) continue;
    if (Status done = setting.set(value->second); !done) {
      return failure(done.error().within(flag_of(setting)));
    }
  }
  return invocation;
}

std::string to_yaml(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    if (setting.show_lines) {
      text += setting.show_lines();
    } else if (!setting.key.empty()) {
      text += setting.key + ": " + yaml_quoted(setting.show()) + "\n";
    }
  }
  return text;
}

namespace {

// What each key says, entries of a map by themselves.
std::map<std::string, std::string> values_of(const std::string& yaml) {
  std::map<std::string, std::string> values;
  std::string key;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(' ');
    const auto colon = line.find(':');
    const bool entry = begin == 2 && line[begin] != '-' && colon != std::string::npos;
    if (begin == 0 && colon != std::string::npos) key = line.substr(0, colon);
    const std::string name = entry ? key + ": " + line.substr(2, colon - 2) : key;
    values[name] += line + "\n";
  }
  return values;
}

}  // namespace

std::vector<std::string> changed_keys(const std::string& before, const std::string& after) {
  const auto old_values = values_of(before);
  auto values = values_of(after);
  for (const auto& [key, value] : old_values) values.try_emplace(key);
  std::vector<std::string> changed;
  for (const auto& [key, value] : values) {
    const auto was = old_values.find(key);
    if (was == old_values.end() || was->second != value) changed.push_back(key);
  }
  return changed;
}

Result<bool> parse_bool(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return failure(Errc::kInvalid, "'" + text + "' is neither true nor false");
}

namespace {

std::string duration_text(std::chrono::milliseconds value) {
  const auto count = value.count();
  if (count % 60'000 == 0 && count != 0) return std::to_string(count / 60'000) + "m";
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
            return unknown_value(given, joined(words, ", "));
          },
          .show = [&value] { return value; }};
}

}  // namespace pinion::settings
