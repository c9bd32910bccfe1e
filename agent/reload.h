// Settings that change while the agent runs: on SIGHUP the file is read again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/config.h"

namespace pinion::agent {

// Keys of settings, by what became of them.
struct Reloaded {
  std::vector<std::string> taken;    // they hold from now on
  std::vector<std::string> restart;  // they hold after the next start
};

// `config` gets from `next` what can change while the agent runs: what a pod's annotations mean and
// may ask, which pods get cores, how often files are compared, and the log's level.
Reloaded take_over(Config& config, const Config& next);

// Reads the configuration by `read`, brings it into `config`, and says in the log what became of
// it. False: it is wrong, and nothing has changed.
bool reload(Config& config, const std::function<Result<Config>()>& read, Log& log);

}  // namespace pinion::agent
