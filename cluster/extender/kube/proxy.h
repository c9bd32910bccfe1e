// Which proxy stands before an API server, chosen as kubectl and other clients in Go choose it.
#pragma once

#include <string>

#include "base/error.h"
#include "cluster/extender/kube/endpoint.h"

namespace pinion::kube {

// What the environment says, as it is.
struct ProxyEnvironment {
  std::string https;  // HTTPS_PROXY
  std::string http;   // HTTP_PROXY
  std::string no;     // NO_PROXY
};

// Of this process; names in capitals win over those in small letters.
ProxyEnvironment proxy_environment();

// The proxy for this endpoint as it stands in the environment, empty for none: HTTPS_PROXY or
// HTTP_PROXY by the endpoint's scheme, unless the host is this machine or NO_PROXY has it. NO_PROXY
// is a list with commas of names (which stand for those below them too; with a dot before them only
// for those), addresses, both with or without a port, networks (10.0.0.0/8), and "*" for all.
std::string proxy_of(const Endpoint& endpoint, const ProxyEnvironment& environment);

// The URL as libcurl takes it: http (also without a scheme), https or socks5, the latter with names
// looked up by the proxy. Errors: kInvalid; its text has no password in it.
Result<std::string> read_proxy_url(const std::string& text);

}  // namespace pinion::kube
