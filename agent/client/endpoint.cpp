#include "agent/client/endpoint.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <charconv>

#include "base/fd.h"

namespace pinion::agent::api {
namespace {

constexpr std::string_view kUnix = "unix:";

tl::unexpected<Error> no_endpoint(std::string_view text) {
  return failure(Errc::kInvalid, "'" + std::string(text) +
                                     "' is no address: use unix:PATH or ADDR:PORT (an IPv6 "
                                     "address in brackets)");
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

}  // namespace

Result<sockaddr_un> unix_address(const std::string& path) {
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
    // gRPC splits the path there, also where it is encoded.
    if (endpoint.path.find(',') != std::string::npos) {
      return failure(Errc::kInvalid, "'" + std::string(text) +
                                         "': the path has a comma, and gRPC would take it for "
                                         "several: use one without");
    }
    if (auto address = unix_address(endpoint.path); !address) return failure(address.error());
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
  const auto address = unix_address(path);
  if (!address) return failure(address.error());
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return sys_failure(path);
  if (!S_ISSOCK(found.st_mode)) {
    return failure(Errc::kInvalid, path + " exists and is no socket");
  }
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return sys_failure("make a socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) == 0)
    return {};
  if (errno == EAGAIN) return {};  // its queue is full: somebody is there
  return sys_failure(path);
}

}  // namespace pinion::agent::api
