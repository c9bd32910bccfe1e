#include "cluster/slurm/site.h"

#include "metrics/prometheus/negotiate.h"

namespace pinion::slurm {
namespace {

// A scrape and the kubelet's probes.
constexpr std::size_t kConnections = 32;

}  // namespace

Result<std::unique_ptr<Site>> Site::start(const std::string& listen, const Bridge& bridge) {
  std::unique_ptr<Site> site(new Site(bridge));
  cluster::ServerOptions options;
  options.listen = listen;
  options.limits.connections = kConnections;
  options.limits.kept_from_binds = 0;
  auto server = cluster::Server::start(std::move(options), {.pages = site.get()});
  if (!server) return failure(server.error().within("listen"));
  site->server_ = *std::move(server);
  return site;
}

cluster::Page Site::metrics(std::string_view accept) {
  const auto format = prometheus::negotiate_format(accept);
  return {.status = 200,
          .type = std::string(prometheus::content_type(format)),
          .body = expose(bridge_.figures(), format)};
}

}  // namespace pinion::slurm
