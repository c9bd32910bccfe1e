#include "base/settings/daemon.h"

#include <iostream>

namespace pinion::settings {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongSettings = 2;

}  // namespace

int run_daemon(int argc, const char* const* argv, const Daemon& daemon) {
  const auto end_with = [&](int code, const Error& why) {
    std::cerr << daemon.program.name << ": " << why.text << "\n";
    return code;
  };
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
    std::cout << to_yaml(daemon.settings);
    return 0;
  }
  const Status done = daemon.run();
  return done ? 0 : end_with(kFailed, done.error());
}

}  // namespace pinion::settings
