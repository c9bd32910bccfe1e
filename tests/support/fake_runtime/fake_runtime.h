// The runtime's side of NRI as bytes, with no socket: what containerd sends to a plugin, and what
// it makes of the plugin's bytes. RuntimeSocket puts it on a socket.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "proto/nri.pb.h"
#include "tests/support/fake_runtime/go_reader.h"
#include "tests/support/fake_runtime/samples.h"

namespace pinion::test_support {

// A plugin's answer to a call.
struct CallResult {
  int code = 0;  // gRPC status, 0: success
  std::string text;
  std::string payload;
};

// One whole ttrpc message, framed as the runtime does it: a first frame of up to 4096 bytes, the
// rest in a second.
std::string frame_message(std::uint32_t connection, std::uint32_t stream, std::uint8_t type,
                          std::string_view body);
// One frame of the mux around any bytes.
std::string frame(std::uint32_t connection, std::string_view payload);
// An encoded ttrpc request.
std::string envelope(std::string_view service, std::string_view method, std::string_view payload);

inline constexpr std::string_view kPluginService = "nri.pkg.api.v1alpha1.Plugin";

class FakeRuntime {
 public:
  // Takes what the plugin sent.
  void receive(std::string_view bytes);

  // What the runtime would do next; the bytes are for the plugin.
  std::string register_answer(int code = 0, const std::string& text = "") const;
  std::string call(std::string_view method, const google::protobuf::MessageLite& request);
  std::string call_raw(std::string_view method, std::string_view payload,
                       std::string_view service = kPluginService);
  std::string configure(const std::string& version = "v2.1.9", int request_timeout_ms = 2000);
  // All in one message.
  std::string synchronize(const wire::SynchronizeRequest& request);
  // Those three one after another, from the registration's answer on, as one text.
  std::string handshake(const wire::SynchronizeRequest& request = {});

  // The stream id of the last call.
  [[nodiscard]] std::uint32_t stream() const { return next_stream_ - 2; }
  // The answer to the call with that stream id (by default the last), once it is there.
  [[nodiscard]] const CallResult* result(std::uint32_t stream = 0) const;
  [[nodiscard]] std::size_t results() const { return results_.size(); }
  void forget_results() { results_.clear(); }

  // The plugin's RegisterPlugin, once it is there.
  [[nodiscard]] const std::optional<wire::RegisterPluginRequest>& registration() const {
    return registration_;
  }
  // Why a runtime would have dropped this plugin: limits of its reader, or a message that it cannot
  // make sense of. Empty while all is well.
  [[nodiscard]] const std::string& broken() const;
  GoReader& reader() { return reader_; }

 private:
  void take(const WireMessage& message);

  GoReader reader_;
  std::string broken_;
  std::uint32_t next_stream_ = 1;
  std::uint32_t register_stream_ = 0;
  std::optional<wire::RegisterPluginRequest> registration_;
  std::map<std::uint32_t, CallResult> results_;
};

}  // namespace pinion::test_support
