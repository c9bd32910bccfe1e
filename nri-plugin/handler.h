// What a session tells the agent, and where it gets its answers from: the protocol's own messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "proto/nri.pb.h"

namespace pinion::nri {

namespace wire = ::nri::pkg::api::v1alpha1;

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

// Changes of other containers than the one that a call is about: how many an answer carries, and
// how many it could not.
struct UpdateCount {
  std::size_t sent = 0;
  std::size_t dropped = 0;
};

// What became of a call.
struct Outcome {
  enum class Kind {
    kAnswered,  // the response, where the call has one, was filled in
    kIgnored,   // an event that the handler does not know: answered with nothing
    kInvalid,   // the request makes no sense: `text` says why
    kRefused,   // the runtime shall fail the request, and show `text` with the pod
  };
  Kind kind = Kind::kAnswered;
  std::string text = {};
  UpdateCount updates = {};
};

// Called from within Connection's functions, in the thread that calls those. A message is valid
// until the call returns.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler() = default;

  // What the runtime is to tell: bit n-1 for the event numbered n.
  [[nodiscard]] virtual std::int32_t events() const = 0;

  // Everything that exists, one after the other; then synchronize(). Begins with forget_listed(),
  // and ends with it where the rest cannot be read. How many bytes are kept of it until then.
  virtual std::size_t list_pod(const wire::PodSandbox& pod) = 0;
  virtual std::size_t list_container(const wire::Container& container) = 0;
  virtual void forget_listed() = 0;

  // The runtime waits for the answer (2 s, then it goes on without this plugin).
  virtual Outcome synchronize(wire::SynchronizeResponse& response) = 0;
  virtual Outcome create_container(const wire::CreateContainerRequest& request,
                                   wire::CreateContainerResponse& response) = 0;
  virtual Outcome update_container(const wire::UpdateContainerRequest& request,
                                   wire::UpdateContainerResponse& response) = 0;
  virtual Outcome stop_container(const wire::StopContainerRequest& request,
                                 wire::StopContainerResponse& response) = 0;
  // All other events: nothing but a refusal can go back. `event` may be any number.
  virtual Outcome tell(wire::Event event, const wire::PodSandbox& pod,
                       const wire::Container& container) = 0;

  // The runtime told who it is; Synchronize comes next.
  virtual void runtime_connected(const RuntimeInfo& /*info*/) {}
  // A session is over, or a connection attempt failed. `again`: the next one begins by itself; else
  // the connection is finished.
  virtual void runtime_disconnected(const Error& /*why*/, bool /*again*/) {}
  // Something for the log that changes nothing else.
  virtual void warn(const std::string& /*text*/) {}
};

}  // namespace pinion::nri
