// Listening where the interface is served.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "agent/client/endpoint.h"
#include "base/error.h"
#include "base/fd.h"

namespace pinion::agent::api {

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
