#include "base/settings/daemon.h"

#include <algorithm>
#include <iostream>
#include <set>

namespace pinion::settings {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongSettings = 2;

bool says_nothing(const Setting& setting) {
  return !setting.key.empty() && !setting.show_lines && setting.show().empty();
}

std::set<std::string> silent_keys(const std::vector<Setting>& settings) {
  std::set<std::string> keys;
  for (const Setting& setting : settings) {
    if (says_nothing(setting)) keys.insert(setting.key);
  }
  return keys;
}

// Without what is not set: an empty text can mean something only where it is not the default.
std::string resulting(std::vector<Setting> settings, const std::set<std::string>& unset) {
  std::erase_if(settings,
                [&](const Setting& one) { return says_nothing(one) && unset.contains(one.key); });
  return to_yaml(settings);
}

}  // namespace

int run_daemon(int argc, const char* const* argv, const Daemon& daemon) {
  const auto end_with = [&](int code, const Error& why) {
    std::cerr << daemon.program.name << ": " << why.text << "\n";
    return code;
  };
  const std::set<std::string> unset = silent_keys(daemon.settings);
  const auto invocation = read(argc, argv, daemon.program, daemon.settings);
  if (!invocation) return end_with(kWrongSettings, invocation.error());
  if (invocation->exit_code) return *invocation->exit_code;
  const Status good = daemon.check ? daemon.check() : Status();
  if (!good) return end_with(kWrongSettings, good.error());
  if (invocation->check_only) {
    for (const std::string& key :
         daemon.without_effect ? daemon.without_effect() : std::vector<std::string>()) {
      std::cerr << daemon.program.name << ": without effect: " << key << "\n";
    }
    std::cout << resulting(daemon.settings, unset);
    return 0;
  }
  const Status done = daemon.run();
  return done ? 0 : end_with(kFailed, done.error());
}

}  // namespace pinion::settings
