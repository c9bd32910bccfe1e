// parse_kubeconfig and parse_endpoint take any bytes; an error always has a text, and a server's
// URL that was read is read the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/extender/kube/endpoint.h"
#include "cluster/extender/kube/kubeconfig.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::kube_config {
PINION_FUZZ_TARGET(kube_config) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = pinion::kube::parse_kubeconfig(text);
  if (!config && config.error().text.empty()) std::abort();
  const auto endpoint = pinion::kube::parse_endpoint(config ? config->server : text);
  if (!endpoint) return 0;
  const auto again = pinion::kube::parse_endpoint(endpoint->url());
  if (!again || again->url() != endpoint->url()) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::kube_config
