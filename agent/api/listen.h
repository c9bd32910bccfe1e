// Where the interface is served: "unix:PATH" or "ADDR:PORT".
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

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

// Whether somebody answers at the unix socket. Errors: kNotFound (no such file), kUnavailable
// (nobody listens there any more), kDenied, kInvalid (no socket, or a path that is too long).
Status probe_unix(const std::string& path);

// Makes room for a new socket: removes the one that a dead agent left there. Errors: kUnavailable
// when an agent lives there, kInvalid for a file that is no socket, kNotFound for a directory that
// does not exist.
Status clear_stale(const std::string& path);

// A socket that listens there and does not block; the port that was chosen is put into `endpoint`.
// A unix socket is its owner's alone from the first moment, and replaces one that a dead agent
// left. 0.0.0.0 is every IPv4 address, [::] every address. Errors: those of clear_stale(); kInvalid
// for a name that is not known; kUnavailable and kDenied from the system.
Result<Fd> listen_at(Endpoint& endpoint);

// An address as gRPC writes it of a caller: "ipv4:10.0.0.7:40123", "ipv6:[fe80::1]:40123", "unix:".
[[nodiscard]] std::string peer_text(const sockaddr_storage& address);
// What gRPC has written in that form: without its percent-encoding and the zone of a link-local
// address.
[[nodiscard]] std::string plain_peer(std::string_view text);

}  // namespace pinion::agent::api
