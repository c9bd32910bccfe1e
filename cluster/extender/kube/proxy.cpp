#include "cluster/extender/kube/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace pinion::kube {
namespace {

constexpr int kBits = 8 * static_cast<int>(sizeof(in6_addr));
constexpr int kBitsBeforeV4 = 96;

// IPv4 as ::ffff:a.b.c.d.
using Address = std::array<std::uint8_t, sizeof(in6_addr)>;

std::optional<Address> address_of(const std::string& text) {
  Address address{};
  if (inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
  address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
  if (inet_pton(AF_INET, text.c_str(), address.data() + kBitsBeforeV4 / 8) == 1) return address;
  return std::nullopt;
}

bool same_bits(const Address& a, const Address& b, int bits) {
  for (std::size_t i = 0; bits > 0; ++i, bits -= 8) {
    const int drop = std::max(8 - bits, 0);
    if (a[i] >> drop != b[i] >> drop) return false;
  }
  return true;
}

bool is_v4(const Address& address) {
  return same_bits(address, *address_of("0.0.0.0"), kBitsBeforeV4);
}

// "10.0.0.0/8".
bool in_network(const Address& address, std::string_view network) {
  const std::size_t slash = network.find('/');
  if (slash == std::string_view::npos) return false;
  const auto first = address_of(std::string(network.substr(0, slash)));
  const std::string_view length = network.substr(slash + 1);
  int bits = 0;
  const auto end = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (!first || end.ec != std::errc{} || end.ptr != length.data() + length.size()) return false;
  const int before = is_v4(*first) ? kBitsBeforeV4 : 0;
  if (bits < 0 || bits > kBits - before || is_v4(address) != is_v4(*first)) return false;
  return same_bits(address, *first, before + bits);
}

bool is_this_machine(const std::string& host) {
  const auto address = address_of(host);
  if (!address) return host == "localhost";
  return *address == address_of("::1") || in_network(*address, "127.0.0.0/8");
}

// Takes ":PORT" off the end and the brackets off an IPv6 address.
std::string cut_port(std::string_view& entry) {
  std::string port;
  const std::size_t colon = entry.rfind(':');
  const bool bracketed = !entry.empty() && entry.front() == '[';
  const bool last = bracketed ? colon > entry.rfind(']') : colon == entry.find(':');
  if (colon != std::string_view::npos && last) {
    port = entry.substr(colon + 1);
    entry = entry.substr(0, colon);
  }
  if (bracketed && entry.back() == ']') entry = entry.substr(1, entry.size() - 2);
  return port;
}

bool names_host(std::string_view entry, const std::string& host) {
  if (entry.substr(0, 2) == "*.") entry.remove_prefix(1);
  const bool only_below = !entry.empty() && entry.front() == '.';
  if (!only_below && entry == host) return true;
  const std::string tail = only_below ? std::string(entry) : "." + std::string(entry);
  return host.size() > tail.size() &&
         host.compare(host.size() - tail.size(), tail.size(), tail) == 0;
}

// One entry of NO_PROXY; `host` in small letters.
bool excepts(std::string_view entry, const std::string& host, int port) {
  if (entry.empty()) return false;
  if (entry == "*") return true;
  const auto address = address_of(host);
  if (address && in_network(*address, entry)) return true;
  const std::string entry_port = cut_port(entry);
  if (!entry_port.empty() && entry_port != std::to_string(port)) return false;
  if (address) return address == address_of(std::string(entry));
  return names_host(entry, host);
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string_view trimmed_entry(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string variable(const char* capitals, const char* small) {
  for (const char* name : {capitals, small}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace

ProxyEnvironment proxy_environment() {
  return {.https = variable("HTTPS_PROXY", "https_proxy"),
          .http = variable("HTTP_PROXY", "http_proxy"),
          .no = variable("NO_PROXY", "no_proxy")};
}

std::string proxy_of(const Endpoint& endpoint, const ProxyEnvironment& environment) {
  const std::string host = in_small_letters(endpoint.host);
  if (is_this_machine(host)) return {};
  const std::string no = in_small_letters(environment.no);
  std::string_view rest = no;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (excepts(trimmed_entry(rest.substr(0, comma)), host, endpoint.port)) return {};
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return endpoint.tls ? environment.https : environment.http;
}

Result<std::string> read_proxy_url(const std::string& text) {
  const std::size_t colon = text.find("://");
  const std::string scheme = colon == std::string::npos ? "http" : text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? text : text.substr(colon + 3);
  const bool plain = !rest.empty() && std::all_of(rest.begin(), rest.end(),
                                                  [](char c) { return c > ' ' && c <= '~'; });
  if (!plain || (scheme != "http" && scheme != "https" && scheme != "socks5")) {
    return failure(Errc::kInvalid,
                   "the proxy is no URL as http://HOST:PORT, https:// or socks5://");
  }
  // With the h it is the proxy who looks names up, as with clients in Go.
  return (scheme == "socks5" ? "socks5h" : scheme) + "://" + rest;
}

}  // namespace pinion::kube
