// What a session tells the agent, and where it gets its answers from.
#pragma once

#include <chrono>
#include <string>

#include "agent/engine/events.h"
#include "base/error.h"

namespace pinion::nri {

// What a runtime says of itself when it configures the plugin. A timeout of 0 was not told.
struct RuntimeInfo {
  std::string name;         // "containerd"
  std::string version;      // "v2.1.9"
  std::string nri_version;  // empty: not told
  std::string config;       // the plugin's own text in the runtime's NRI configuration
  std::chrono::milliseconds registration_timeout{0};
  std::chrono::milliseconds request_timeout{0};

  bool operator==(const RuntimeInfo&) const = default;
};

// Called from within Connection's functions, in the thread that calls those.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler() = default;

  // The runtime waits for the answer (2 s, then it goes on without this plugin).
  virtual engine::Reply handle(engine::Event event) = 0;

  // The runtime told who it is; Synchronize comes next.
  virtual void runtime_connected(const RuntimeInfo& /*info*/) {}
  // A session is over, or a connection attempt failed; the next one begins by itself.
  virtual void runtime_disconnected(const Error& /*why*/) {}
  // Something for the log that changes nothing else.
  virtual void warn(const std::string& /*text*/) {}
};

}  // namespace pinion::nri
