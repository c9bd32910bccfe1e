#include "cluster/extender/kube/dial.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>

namespace pinion::kube {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> look_up(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (status != 0) {
    return failure(Errc::kUnavailable, "look up " + endpoint.host + ": " + gai_strerror(status));
  }
  return Addresses(found, &freeaddrinfo);
}

// 0, or errno.
int finish(const Fd& socket, TimePoint until, const Cancel& cancel) {
  switch (cancel.wait(socket.get(), POLLOUT, until)) {
    case Cancel::Woken::kDeadline:
      return ETIMEDOUT;
    case Cancel::Woken::kCancelled:
      return ECANCELED;
    case Cancel::Woken::kReady:
      break;
  }
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

Result<Fd> dial_one(const addrinfo& address, TimePoint until, const Cancel& cancel) {
  Fd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return sys_failure("make a socket");
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  int error = errno;
  if (error == EINPROGRESS) error = finish(socket, until, cancel);
  if (error == 0) return socket;
  return sys_failure("connect", error);
}

}  // namespace

Result<Fd> dial(const Endpoint& endpoint, TimePoint until, const Cancel& cancel) {
  const auto addresses = look_up(endpoint);
  if (!addresses) return failure(addresses.error());
  Error last;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
    auto socket = dial_one(*at, until, cancel);
    if (socket) return socket;
    last = std::move(socket.error());
  }
  last.code = Errc::kUnavailable;
  return failure(std::move(last).within(endpoint.authority()));
}

}  // namespace pinion::kube
