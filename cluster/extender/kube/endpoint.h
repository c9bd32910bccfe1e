// Where an API server is.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::kube {

struct Endpoint {
  bool tls = true;
  std::string host;  // a name or an address; IPv6 without its brackets
  int port = 443;
  std::string path;  // before every path of the API, without a slash at its end; mostly empty

  // As in the header Host: "api.example:6443", "[::1]:6443".
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string url() const;
};

// Whether it is written like a host name or an address, IPv6 without brackets: nothing in it ends
// the host of a URL.
bool is_host(std::string_view text);

// "https://HOST[:PORT][/PATH]", or http. Errors: kInvalid, naming the text.
Result<Endpoint> parse_endpoint(std::string_view url);

}  // namespace pinion::kube
