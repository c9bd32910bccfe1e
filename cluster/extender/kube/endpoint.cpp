#include "cluster/extender/kube/endpoint.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace pinion::kube {
namespace {

constexpr int kHttpsPort = 443;
constexpr int kHttpPort = 80;
constexpr int kLastPort = 65535;

tl::unexpected<Error> no_url(std::string_view url, const std::string& why) {
  return failure(Errc::kInvalid,
                 "server '" + std::string(url) + "': " + why + " (as in https://10.0.0.1:6443)");
}

// Nothing that could end a line or a word of the request's head.
bool plain(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

bool read_port(std::string_view text, int& port) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), port);
  return end.ec == std::errc{} && end.ptr == text.data() + text.size() && port > 0 &&
         port <= kLastPort;
}

// HOST[:PORT] or [ADDRESS][:PORT]; what is left after the host in `rest`.
std::string_view cut_host(std::string_view text, std::string_view& rest) {
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {};
    rest = text.substr(end + 1);
    return text.substr(1, end - 1);
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  rest = text.substr(colon);
  return text.substr(0, colon);
}

}  // namespace

bool is_host(std::string_view text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == ':';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

std::string Endpoint::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Endpoint::url() const {
  return (tls ? "https://" : "http://") + authority() + path;
}

Result<Endpoint> parse_endpoint(std::string_view url) {
  Endpoint result;
  std::string_view text = url;
  if (text.rfind("https://", 0) == 0) {
    text.remove_prefix(8);
  } else if (text.rfind("http://", 0) == 0) {
    text.remove_prefix(7);
    result.tls = false;
  } else {
    return no_url(url, "no URL with https:// or http://");
  }
  if (!plain(text) || text.find_first_of("?#@") != std::string_view::npos) {
    return no_url(url, "blanks, '?', '#' and user names have no place in it");
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  result.path = text.substr(slash);
  while (!result.path.empty() && result.path.back() == '/') result.path.pop_back();
  std::string_view rest;
  result.host = cut_host(text.substr(0, slash), rest);
  if (result.host.empty()) return no_url(url, "no host");
  if (!is_host(result.host)) return no_url(url, "no host name or address");
  result.port = result.tls ? kHttpsPort : kHttpPort;
  if (rest.empty()) return result;
  if (rest.front() != ':' || !read_port(rest.substr(1), result.port)) {
    return no_url(url, "the port is not a number from 1 to 65535");
  }
  return result;
}

}  // namespace pinion::kube
