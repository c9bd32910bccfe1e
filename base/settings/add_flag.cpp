#include "base/settings/add_flag.h"

namespace pinion::settings {

CLI::Option* add_flag(CLI::App& command, const Setting& setting) {
  const std::string flag = flag_of(setting);
  const auto set = [flag, set = setting.set](const std::string& text) {
    if (const Status done = set(text); !done) throw CLI::ValidationError(flag, done.error().text);
  };
  if (setting.key.empty()) {  // a switch
    return command.add_flag_callback(
        flag, [set] { set("true"); }, setting.help);
  }
  return command.add_option_function<std::string>(flag, set, setting.help);
}

}  // namespace pinion::settings
