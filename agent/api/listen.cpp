#include "agent/api/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>

namespace pinion::agent::api {
namespace {

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

constexpr int kBacklog = 128;

Result<Fd> listen_unix(const std::string& path) {
  if (Status clear = clear_stale(path); !clear) return failure(std::move(clear.error()));
  const auto address = unix_address(path);
  if (!address) return failure(address.error());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return sys_failure("make a socket");
  // The file gets the socket's mode, without what the umask takes away.
  if (::fchmod(socket.get(), 0600) != 0) return sys_failure("change the mode of " + path);
  if (::bind(socket.get(), generic(*address), sizeof(*address)) != 0) return sys_failure("bind");
  if (::listen(socket.get(), kBacklog) != 0) return sys_failure("listen");
  return socket;
}

Result<Fd> bound_to(const addrinfo& to) {
  Fd socket(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return sys_failure("make a socket");
  // A port of an agent that has just ended may be taken again; one of a live listener may not.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), to.ai_addr, to.ai_addrlen) != 0) return sys_failure("bind");
  if (::listen(socket.get(), kBacklog) != 0) return sys_failure("listen");
  return socket;
}

template <class Address>
Address as(const sockaddr_storage& storage) {
  Address address{};
  std::memcpy(&address, &storage, sizeof(address));
  return address;
}

Result<Fd> listen_tcp(Endpoint& endpoint) {
  std::string host = endpoint.host;
  if (host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &list);
  if (error != 0) return failure(Errc::kInvalid, "'" + host + "': " + gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, freeaddrinfo);
  auto socket = bound_to(*list);
  if (!socket) return socket;
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (::getsockname(socket->get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return sys_failure("getsockname");
  }
  endpoint.port = ntohs(bound.ss_family == AF_INET6 ? as<sockaddr_in6>(bound).sin6_port
                                                    : as<sockaddr_in>(bound).sin_port);
  return socket;
}

}  // namespace

Status clear_stale(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!parent.empty() && !std::filesystem::is_directory(parent, ignored)) {
    return failure(Errc::kNotFound, "the directory of " + path + " does not exist");
  }
  Status answered = probe_unix(path);
  if (answered) return failure(Errc::kUnavailable, "an agent listens at " + path + " already");
  const int error = answered.error().sys_errno;
  if (error == ENOENT) return {};
  if (error != ECONNREFUSED) return answered;
  if (::unlink(path.c_str()) != 0) return sys_failure("remove stale socket " + path);
  return {};
}

Result<Fd> listen_at(Endpoint& endpoint) {
  return endpoint.is_unix() ? listen_unix(endpoint.path) : listen_tcp(endpoint);
}

std::string peer_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto v4 = as<sockaddr_in>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return "ipv4:" + std::string(text.data()) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return "unix:";
  const auto v6 = as<sockaddr_in6>(address);
  const std::string port = std::to_string(ntohs(v6.sin6_port));
  constexpr std::size_t mapped = 12;  // bytes before an IPv4 address
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[mapped], text.data(), text.size());
    return "ipv4:" + std::string(text.data()) + ":" + port;
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return "ipv6:[" + std::string(text.data()) + "]:" + port;
}

std::string plain_peer(std::string_view text) {
  std::string plain(text);
  for (const auto& [encoded, character] : {std::pair{"%5B", "["}, std::pair{"%5D", "]"}}) {
    if (const auto at = plain.find(encoded); at != std::string::npos)
      plain.replace(at, 3, character);
  }
  const std::size_t zone = plain.find('%');
  const std::size_t end = plain.find(']');
  if (zone != std::string::npos && end != std::string::npos && zone < end) {
    plain.erase(zone, end - zone);
  }
  return plain;
}

}  // namespace pinion::agent::api
