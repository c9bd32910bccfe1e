// The agent's gRPC server: the Node service, the standard health and reflection services, limits,
// and the address.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "agent/api/convert.h"
#include "agent/api/door.h"
#include "agent/api/figures.h"
#include "agent/client/tls.h"
#include "agent/published.h"
#include "base/error.h"

namespace pinion::agent::api {

struct ApiOptions {
  // "unix:PATH": for the owner of the socket alone; "ADDR:PORT": with mutual TLS only, port 0 is
  // any free one.
  std::string listen;
  // A second address for tools on the node itself, "unix:PATH"; empty: none.
  std::string local = {};
  TlsFiles tls;                         // TCP only
  std::chrono::seconds tls_reload{10};  // how often the files are looked at, at least 1 s
  NodeName name;
  WatchLimits watch;
  DoorLimits door;
};

// A random value that tells one life of the agent from another: 16 hexadecimal digits.
[[nodiscard]] std::string new_instance();

class ApiServer {
 public:
  // Listens and serves from its own threads until stop(). The published objects must live longer.
  // Errors: kInvalid (address, TLS files, TCP without them), kNotFound (no directory for the
  // socket), kUnavailable (an agent is there already, address in use), kDenied.
  static Result<std::unique_ptr<ApiServer>> start(const ApiOptions& options,
                                                  Published<NodeView>& views,
                                                  Published<metrics::Sample>& samples);
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;
  ~ApiServer();

  // As in ApiOptions::listen, with the port that was chosen.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const ApiFigures& figures() const;

  // Ends all watches, refuses new calls, gives those under way, and peers that do not take gRPC's
  // goodbye, up to `limit`, removes the socket.
  void stop(std::chrono::milliseconds limit = std::chrono::milliseconds(300));

 private:
  struct Parts;  // keeps gRPC out of this header
  explicit ApiServer(std::unique_ptr<Parts> parts, std::string address);

  std::unique_ptr<Parts> parts_;
  std::string address_;
};

}  // namespace pinion::agent::api
