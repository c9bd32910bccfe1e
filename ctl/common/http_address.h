// Where a server is, as given on the command line.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::ctl {

struct HttpAddress {
  std::string origin;  // "https://HOST:PORT"
  std::string path;    // in front of the server's own paths, without a slash at its end; or empty
};

// Error: kInvalid for what does not begin with http:// or https:// and a host.
Result<HttpAddress> parse_http_address(const std::string& url);

}  // namespace pinion::ctl
