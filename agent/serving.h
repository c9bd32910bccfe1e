// The agent's two doors: HTTP (Prometheus, probes, the page) and gRPC. Both show what is published
// and never reach the main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/api/server.h"
#include "agent/config.h"
#include "agent/http/http_server.h"
#include "agent/published.h"
#include "agent/view.h"

namespace pinion::agent {

class Serving {
 public:
  // Opens what the configuration asks for. The published objects must outlive it. Errors: those of
  // ApiServer::start and HttpServer::start, naming the setting.
  static Result<std::unique_ptr<Serving>> start(const Config& config, Published<NodeView>& views,
                                                Published<metrics::Sample>& samples,
                                                const Published<noise::Figures>& noise);

  // "metrics=127.0.0.1:9464", "api=unix:/run/pinion/agent.sock": for the log and the ready file.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> addresses() const;

 private:
  Serving() = default;

  std::unique_ptr<api::ApiServer> api_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace pinion::agent
