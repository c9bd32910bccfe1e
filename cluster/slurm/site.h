// The pages of pinion-slurm: /metrics, and /livez and /readyz for the kubelet.
#pragma once

#include <memory>
#include <string>

#include "cluster/extender/http/server.h"
#include "cluster/slurm/bridge.h"

namespace pinion::slurm {

class Site : private cluster::Pages {
 public:
  // Listens and answers from now on. `bridge` must outlive it. Errors: as net::listen_on().
  static Result<std::unique_ptr<Site>> start(const std::string& listen, const Bridge& bridge);

  // With the port that was chosen.
  [[nodiscard]] std::string address() const { return server_->address(); }

 private:
  explicit Site(const Bridge& bridge) : bridge_(bridge) {}

  std::string not_live() override { return bridge_.not_live(); }
  std::string not_ready() override { return bridge_.not_ready(); }
  cluster::Page metrics(std::string_view accept) override;
  // None of these is here.
  std::string not_leading() override { return "nobody leads here"; }
  cluster::Page fleet() override { return nothing(); }
  cluster::Page jobs(std::string_view /*name_space*/) override { return nothing(); }
  cluster::Page home() override { return nothing(); }
  cluster::Page plan(std::string_view /*job*/) override { return nothing(); }
  static cluster::Page nothing() {
    return {.status = 404, .type = "text/plain", .body = "not here\n"};
  }

  const Bridge& bridge_;
  std::unique_ptr<cluster::Server> server_;  // the last: it asks all above
};

}  // namespace pinion::slurm
