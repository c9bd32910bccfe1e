// The agent's doors: HTTP (Prometheus, the page), HTTP for probes alone, and gRPC. All show what is
// published and never reach the main thread. How many connections each takes is bounded, and so are
// descriptors and memory: nobody who connects can take them from the path that pins.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/api/server.h"
#include "agent/config.h"
#include "agent/heartbeat.h"
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
                                                const Published<noise::Figures>& noise,
                                                const Heartbeat& heart);

  // At most so many descriptors are open for all of them at once.
  [[nodiscard]] static std::size_t descriptors();

  // "metrics=127.0.0.1:9464", "api=unix:/run/pinion/agent.sock": for the log and the ready file.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> addresses() const;

 private:
  Serving() = default;

  [[nodiscard]] std::vector<ListenerFigures> listeners() const;
  [[nodiscard]] Status serve_http(const Config& config, const api::NodeName& name,
                                  const Published<NodeView>& views,
                                  const Published<metrics::Sample>& samples,
                                  const Published<noise::Figures>& noise, const Heartbeat& heart);

  net::ConnectionFigures metrics_figures_;
  net::ConnectionFigures probe_figures_;
  std::unique_ptr<api::ApiServer> api_;
  std::unique_ptr<HttpServer> metrics_;
  std::unique_ptr<HttpServer> probe_;
};

}  // namespace pinion::agent
