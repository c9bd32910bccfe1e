// pinion-agent on an imagined machine, started as the chart does: with a probe listener, and an API
// over TCP with mutual TLS. What starts it plays the runtime to it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "agent/client/client.h"
#include "base/error.h"
#include "tests/bench/nri_bench_player.h"

namespace pinion::bench {

struct ChartAgent {
  Player player;
  pid_t pid = 0;
  agent::api::TlsFiles client;  // for who speaks to its API
};

// Synchronized, of 256 CPUs, listening on ports that the system chooses. Its certificates, its
// state and its log are in `folder`. Errors: kUnavailable without the openssl command; as
// PluginProcess and Player.
Result<ChartAgent> start_as_chart(const std::string& agent, const std::filesystem::path& folder);

// Where its listener "api", "metrics" or "probe" is; empty: it has not said so yet.
std::string address_of(const std::filesystem::path& folder, const std::string& listener);

}  // namespace pinion::bench
