// "ADDR:PORT" as what a socket is bound to.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace pinion::net {

struct ListenAddress {
  sockaddr_storage address{};
  socklen_t size = 0;

  [[nodiscard]] bool loopback() const;          // 127.0.0.0/8 or ::1
  [[nodiscard]] std::string to_string() const;  // "127.0.0.1:9464", "[::1]:9464"
};

// An IPv4 address or an IPv6 address in brackets, and a port from 0 (any free one) to 65535. Names
// are not looked up. Errors: kInvalid, naming the text.
Result<ListenAddress> parse_listen_address(std::string_view text);

struct Listener {
  Fd socket;              // does not block
  ListenAddress address;  // the port as chosen
};

// Errors: kInvalid for the text; kDenied and kUnavailable from the system, naming the address: in
// use, not of this machine, a port that needs privileges.
Result<Listener> listen_on(std::string_view text);

}  // namespace pinion::net
