// Where an agent's interface is: "unix:PATH" or "ADDR:PORT".
#pragma once

#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::agent::api {

struct Endpoint {
  std::string path;  // of a unix socket; empty: TCP
  std::string host;  // name, IPv4 address or IPv6 address in brackets
  std::uint16_t port = 0;

  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  [[nodiscard]] std::string to_string() const;  // the form that parse() reads
  [[nodiscard]] std::string grpc_uri() const;   // as gRPC wants it, for servers and clients

  // Error: kInvalid, naming both forms.
  static Result<Endpoint> parse(std::string_view text);
};

// Error: kInvalid for a path that is too long.
Result<sockaddr_un> unix_address(const std::string& path);

// Whether somebody answers at the unix socket. Errors: kNotFound (no such file), kUnavailable
// (nobody listens there any more), kDenied, kInvalid (no socket, or a path that is too long).
Status probe_unix(const std::string& path);

}  // namespace pinion::agent::api
