#include "agent/api/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>

namespace pinion::agent::api {
namespace {

constexpr std::string_view kUnix = "unix:";

tl::unexpected<Error> no_endpoint(std::string_view text) {
  return failure(Errc::kInvalid, "'" + std::string(text) +
                                     "' is no address: use unix:PATH or ADDR:PORT (an IPv6 "
                                     "address in brackets)");
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return failure(Errc::kInvalid, "socket path is longer than " +
                                       std::to_string(sizeof(address.sun_path) - 1) +
                                       " bytes: " + path);
  }
  path.copy(address.sun_path, path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// gRPC takes addresses as URIs.
std::string percent_encoded(const std::string& path) {
  constexpr std::string_view plain = "/-._~";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || plain.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return encoded;
}

constexpr int kBacklog = 128;

Result<Fd> listen_unix(const std::string& path) {
  if (Status clear = clear_stale(path); !clear) return failure(std::move(clear.error()));
  const auto address = address_of(path);
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

std::string Endpoint::to_string() const {
  if (is_unix()) return std::string(kUnix) + path;
  return host + ":" + std::to_string(port);
}

std::string Endpoint::grpc_uri() const {
  return is_unix() ? std::string(kUnix) + percent_encoded(path) : to_string();
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  Endpoint endpoint;
  if (text.substr(0, kUnix.size()) == kUnix) {
    endpoint.path = text.substr(kUnix.size());
    if (endpoint.path.empty() || endpoint.path.find('\0') != std::string::npos) {
      return no_endpoint(text);
    }
    if (auto address = address_of(endpoint.path); !address) return failure(address.error());
    return endpoint;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return no_endpoint(text);
  endpoint.host = text.substr(0, colon);
  const bool bracketed = endpoint.host.front() == '[' && endpoint.host.back() == ']';
  if (!bracketed && endpoint.host.find_first_of(":[]/ %") != std::string::npos) {
    return no_endpoint(text);
  }
  const char* const begin = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(begin, end, endpoint.port);
  if (begin == end || at != end || error != std::errc()) return no_endpoint(text);
  return endpoint;
}

Status probe_unix(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return failure(address.error());
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return sys_failure(path);
  if (!S_ISSOCK(found.st_mode)) {
    return failure(Errc::kInvalid, path + " exists and is no socket");
  }
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return sys_failure("make a socket");
  if (::connect(socket.get(), generic(*address), sizeof(*address)) == 0) return {};
  if (errno == EAGAIN) return {};  // its queue is full: somebody is there
  return sys_failure(path);
}

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
