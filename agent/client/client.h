// A small client of the agent's interface, for tools and tests: blocking calls with a deadline
// each.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/client/tls.h"
#include "base/error.h"
#include "proto/pinion/v1/node.pb.h"

namespace pinion::agent::api {

struct ClientOptions {
  TlsFiles tls;             // TCP only
  std::string server_name;  // in the agent's certificate, where it is not the HOST of the address
  std::chrono::milliseconds limit{10000};  // of each call but watch()
};

struct WatchOptions {
  bool figures = false;
  std::chrono::milliseconds min_interval{0};
  std::optional<std::chrono::milliseconds> limit;  // of the whole watch; nullopt: none
};

// Errors of all calls, in words for an operator: kUnavailable (no agent there, no answer in time),
// kDenied (not permitted, TLS refused), kInvalid (the agent finds the request wrong), kExhausted
// (too many watch), kNotFound (the agent does not know the call), kInternal.
// May be used by several threads at once.
class Client {
 public:
  // `address` is "unix:PATH" or "HOST:PORT". Errors, beside the above: kInvalid for an address that
  // is none, and for TCP without TLS files. A unix socket is tried, TCP only connects when called.
  static Result<Client> connect(const std::string& address, const ClientOptions& options = {});

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  Result<v1::NodeState> get_node();
  Result<v1::ListContainersResponse> list_containers();
  // The first message of a watch: node and containers of one generation.
  Result<v1::Snapshot> snapshot(bool figures = true);
  Result<v1::PlanResponse> plan(const v1::PlanRequest& request);

  // Calls `each` for every message until it answers false, which is no error. Errors, beside the
  // above: kUnavailable when the limit has passed, or the agent stops.
  Status watch(const WatchOptions& options,
               const std::function<bool(const v1::WatchNodeResponse&)>& each);

 private:
  struct Parts;  // keeps gRPC out of this header
  explicit Client(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pinion::agent::api
