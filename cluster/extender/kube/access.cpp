#include "cluster/extender/kube/access.h"

#include <filesystem>

#include "base/whole_file.h"
#include "cluster/extender/kube/kubeconfig.h"
#include "cluster/extender/kube/proxy.h"
#include "cluster/extender/kube/token.h"

namespace pinion::kube {
namespace {

// Paths in a kubeconfig begin at its folder.
std::string beside(const std::string& kubeconfig, const std::string& path) {
  return (std::filesystem::path(kubeconfig).parent_path() / path).string();
}

Result<std::string> text_of(const InlineOrFile& value, const std::string& kubeconfig,
                            const char* key) {
  if (value.file.empty()) return value.data;
  auto text = read_file(beside(kubeconfig, value.file), 1);
  if (!text) return failure(text.error().within(key));
  return text;
}

Status fill_certificates(const Kubeconfig& config, const std::string& path, Access& access) {
  auto ca = text_of(config.ca, path, "certificate-authority");
  if (!ca) return failure(ca.error());
  auto certificate = text_of(config.certificate, path, "client-certificate");
  if (!certificate) return failure(certificate.error());
  auto key = text_of(config.key, path, "client-key");
  if (!key) return failure(key.error());
  if (certificate->empty() != key->empty()) {
    return failure(Errc::kInvalid, "client-certificate and client-key go together, one is missing");
  }
  access.ca = *std::move(ca);
  access.certificate = *std::move(certificate);
  access.key = *std::move(key);
  return {};
}

Status fill(const Kubeconfig& config, const KubeconfigOptions& options, Access& access) {
  auto endpoint = parse_endpoint(config.server);
  if (!endpoint) return failure(endpoint.error());
  access.endpoint = *std::move(endpoint);
  if (config.insecure && !options.allow_insecure) {
    return failure(Errc::kInvalid,
                   "insecure-skip-tls-verify: true would talk to anybody; give "
                   "certificate-authority instead, or allow it explicitly");
  }
  access.verify = !config.insecure;
  if (!config.server_name.empty() && !is_host(config.server_name)) {
    return failure(Errc::kInvalid, "tls-server-name '" + config.server_name +
                                       "' is neither a host name nor an address");
  }
  access.server_name = config.server_name;
  if (!config.proxy.empty()) {
    if (auto url = read_proxy_url(config.proxy); !url)
      return failure(url.error().within("proxy-url"));
  }
  access.proxy = config.proxy;
  if (!config.token.empty() && !is_token(config.token)) {
    return failure(Errc::kInvalid, "token is more than one word");
  }
  access.token = config.token;
  if (!config.token_file.empty()) access.token_file = beside(access.source, config.token_file);
  if (!config.name_space.empty()) access.default_namespace = config.name_space;
  return fill_certificates(config, access.source, access);
}

}  // namespace

Result<Access> read_kubeconfig(const std::string& path, const KubeconfigOptions& options) {
  auto text = read_file(path, 1);
  if (!text) return failure(text.error().within("kubeconfig"));
  const auto config = parse_kubeconfig(*text, options.context);
  if (!config) return failure(config.error().within(path));
  Access access;
  access.source = path;
  if (const Status filled = fill(*config, options, access); !filled) {
    return failure(filled.error().within(path));
  }
  return access;
}

}  // namespace pinion::kube
