// Limits and figures of the interface.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/api/watch_state.h"
#include "base/net/connection_figures.h"

namespace pinion::agent::api {

struct WatchLimits {
  WatchTimes times;
  std::size_t most = 64;  // watchers at once
};

// Since the start; none but `watchers` goes back. May be read by any thread at any time.
struct ApiFigures {
  std::atomic<std::uint64_t> watchers = 0;  // now
  std::atomic<std::uint64_t> calls = 0;     // of all methods
  std::atomic<std::uint64_t> watch_messages = 0;
  std::atomic<std::uint64_t> watchers_refused = 0;  // too many
  std::atomic<std::uint64_t> watchers_cut_off = 0;  // read nothing for too long
  net::ConnectionFigures connections;
};

}  // namespace pinion::agent::api
