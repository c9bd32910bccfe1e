#include "ctl/common/http_address.h"

#include <algorithm>

namespace pinion::ctl {

Result<HttpAddress> parse_http_address(const std::string& url) {
  const bool known = url.rfind("http://", 0) == 0 || url.rfind("https://", 0) == 0;
  const std::size_t host = url.find("//") + 2;
  const std::size_t slash = std::min(url.find('/', host), url.size());
  if (!known || slash == host) {
    return failure(Errc::kInvalid, "'" + url + "' is no URL such as http://127.0.0.1:9090");
  }
  HttpAddress address{.origin = url.substr(0, slash), .path = url.substr(slash)};
  while (!address.path.empty() && address.path.back() == '/') address.path.pop_back();
  return address;
}

}  // namespace pinion::ctl
