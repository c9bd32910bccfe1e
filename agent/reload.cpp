#include "agent/reload.h"

#include "base/settings/settings.h"
#include "base/words.h"

namespace pinion::agent {

Reloaded take_over(Config& config, const Config& next) {
  Config live = config;
  live.defaults = next.defaults;
  live.audit_interval = next.audit_interval;
  live.log_level = next.log_level;
  const std::string text = to_yaml(live);
  Reloaded reloaded{.taken = settings::changed_keys(to_yaml(config), text),
                    .restart = settings::changed_keys(text, to_yaml(next))};
  config = std::move(live);
  return reloaded;
}

bool reload(Config& config, const std::function<Result<Config>()>& read, Log& log) {
  const auto next = read();
  if (!next) {
    log.error("the configuration is wrong, all stays as it was", {{"why", next.error().text}});
    return false;
  }
  const Reloaded reloaded = take_over(config, *next);
  log.set_level(config.log_level);
  log.info("configuration read again",
           {{"changed", reloaded.taken.empty() ? "nothing" : joined(reloaded.taken, ", ")}});
  if (!reloaded.restart.empty()) {
    log.warn("settings have changed that hold after a restart only",
             {{"settings", joined(reloaded.restart, ", ")}});
  }
  return true;
}

}  // namespace pinion::agent
