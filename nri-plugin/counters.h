// What the NRI plugin has seen and done since the agent started: monotonic, over all sessions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "metrics/prometheus/histogram.h"

namespace pinion::nri {

// The methods of the protocol's service "Plugin" that this one answers.
enum class Method {
  kConfigure,
  kSynchronize,
  kShutdown,
  kCreateContainer,
  kUpdateContainer,
  kStopContainer,
  kStateChange,
  kRunPodSandbox,  // from here on: newer runtimes only, older ones use StateChange
  kStopPodSandbox,
  kRemovePodSandbox,
  kPostCreateContainer,
  kStartContainer,
  kPostStartContainer,
  kPostUpdateContainer,
  kRemoveContainer,
};
inline constexpr std::size_t kMethods = 15;

// The name on the wire: "CreateContainer".
[[nodiscard]] std::string_view to_string(Method method);
// Nothing for a name that is none of them.
[[nodiscard]] std::optional<Method> to_method(std::string_view name);

struct Counters {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;  // handed to the socket's buffer or waiting for it
  std::uint64_t frames_in = 0;  // of the mux
  std::uint64_t frames_out = 0;
  std::array<std::uint64_t, kMethods> calls{};            // by Method
  std::array<std::uint64_t, kMethods> errors{};           // of those, answered with an error status
  std::array<prometheus::Histogram, kMethods> latency{};  // from the whole call to its answer
  std::uint64_t refusals = 0;          // errors because the handler refused the request
  std::uint64_t unknown_methods = 0;   // answered "unimplemented"
  std::uint64_t ignored_messages = 0;  // unknown connection, type, event or stream: skipped
  std::uint64_t updates_out = 0;       // entries of update[] sent
  std::uint64_t updates_dropped = 0;   // empty, doubled, or in an answer that cannot carry them
  std::uint64_t connects = 0;          // sockets opened
  std::uint64_t connect_failures = 0;
  std::uint64_t synchronized = 0;     // sessions that got as far
  std::uint64_t sessions_failed = 0;  // sessions that ended, for whatever reason but a resync
  std::uint64_t resyncs = 0;          // sessions ended by the agent to synchronize anew

  [[nodiscard]] std::uint64_t calls_of(Method method) const {
    return calls[static_cast<std::size_t>(method)];
  }
  [[nodiscard]] std::uint64_t errors_of(Method method) const {
    return errors[static_cast<std::size_t>(method)];
  }
};

}  // namespace pinion::nri
