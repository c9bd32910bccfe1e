#include "base/net/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <charconv>
#include <cstring>

namespace pinion::net {
namespace {

constexpr int kBacklog = 1024;  // a gang's binds come all at once

tl::unexpected<Error> no_address(std::string_view text, std::string_view why) {
  return failure(Errc::kInvalid, "listen address '" + std::string(text) + "': " + std::string(why) +
                                     " (as in 127.0.0.1:9464 or [::1]:9464)");
}

template <class Address>
Address as(const sockaddr_storage& storage) {
  Address address{};
  std::memcpy(&address, &storage, sizeof(address));
  return address;
}

template <class Address>
ListenAddress of(const Address& address) {
  ListenAddress result;
  std::memcpy(&result.address, &address, sizeof(address));
  result.size = sizeof(address);
  return result;
}

}  // namespace

bool ListenAddress::loopback() const {
  constexpr std::uint32_t loopback_net = 127;
  if (address.ss_family == AF_INET) {
    return ntohl(as<sockaddr_in>(address).sin_addr.s_addr) >> 24U == loopback_net;
  }
  const in6_addr v6 = as<sockaddr_in6>(address).sin6_addr;
  return std::memcmp(&v6, &in6addr_loopback, sizeof(v6)) == 0;
}

std::string ListenAddress::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto v4 = as<sockaddr_in>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  const auto v6 = as<sockaddr_in6>(address);
  inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(v6.sin6_port));
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return no_address(text, "no port");
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || end.ec != std::errc{} || end.ptr != digits.data() + digits.size()) {
    return no_address(text, "the port is not a number up to 65535");
  }
  std::string host(text.substr(0, colon));
  if (host.empty()) return no_address(text, "no address; 0.0.0.0 and [::] are all of them");
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) {
      return no_address(text, "no IPv6 address within the brackets");
    }
    return of(v6);
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) {
    return no_address(text, "neither an IPv4 address nor an IPv6 address in brackets");
  }
  return of(v4);
}

Result<Listener> listen_on(std::string_view text) {
  auto address = parse_listen_address(text);
  if (!address) return failure(std::move(address.error()));
  const std::string what = "listen on " + address->to_string();
  Fd socket(::socket(address->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return sys_failure(what);
  // A port of an agent that has just ended may be taken again; one of a live listener may not.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  auto* generic = reinterpret_cast<sockaddr*>(&address->address);
  if (bind(socket.get(), generic, address->size) != 0) return sys_failure(what);
  if (::listen(socket.get(), kBacklog) != 0) return sys_failure(what);
  if (getsockname(socket.get(), generic, &address->size) != 0) return sys_failure(what);
  return Listener{.socket = std::move(socket), .address = *address};
}

}  // namespace pinion::net
