#include <cstdlib>

#include "base/whole_file.h"
#include "cluster/extender/kube/access.h"

namespace pinion::kube {
namespace {

Result<std::string> setting(const std::string& given, const char* variable) {
  if (!given.empty()) return given;
  const char* value = std::getenv(variable);
  if (value != nullptr && *value != '\0') return std::string(value);
  return failure(Errc::kNotFound, std::string("environment variable ") + variable +
                                      " is not set: not in a pod; name a kubeconfig file instead");
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<Access> read_in_cluster(const InClusterOptions& options) {
  auto host = setting(options.host, "KUBERNETES_SERVICE_HOST");
  if (!host) return failure(host.error());
  auto port = setting(options.port, "KUBERNETES_SERVICE_PORT");
  if (!port) return failure(port.error());
  const bool v6 = host->find(':') != std::string::npos;
  auto endpoint = parse_endpoint("https://" + (v6 ? "[" + *host + "]" : *host) + ":" + *port);
  if (!endpoint) return failure(endpoint.error().within("KUBERNETES_SERVICE_HOST and _PORT"));

  Access access;
  access.source = "the pod's service account";
  access.endpoint = *std::move(endpoint);
  access.token_file = options.folder + "/token";
  auto ca = read_file(options.folder + "/ca.crt", 1);
  if (!ca) return failure(ca.error().within(access.source));
  access.ca = *std::move(ca);
  // Read here only to say at once what is missing.
  if (auto token = read_file(access.token_file, 1); !token) {
    return failure(token.error().within(access.source));
  }
  if (auto name = read_file(options.folder + "/namespace", 1); name && !trimmed(*name).empty()) {
    access.default_namespace = trimmed(*std::move(name));
  }
  return access;
}

Result<Access> read_access(const std::string& kubeconfig, const std::string& context) {
  if (kubeconfig.empty()) return read_in_cluster();
  auto access = read_kubeconfig(kubeconfig, {.context = context});
  if (!access) return failure(access.error().within("kubeconfig"));
  return access;
}

}  // namespace pinion::kube
