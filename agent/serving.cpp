#include "agent/serving.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>

#include "agent/http/process_figures.h"
#include "agent/page.h"
#include "base/version.h"

namespace pinion::agent {
namespace {

const HttpLimits kMetricsLimits;
const HttpLimits kProbeLimits{.read = std::chrono::milliseconds(1000),
                              .write = std::chrono::milliseconds(1000),
                              .request_bytes = 4096,
                              .unsent_bytes = 1U << 16U,
                              .peers = {.most = 32, .most_of_peer = 16, .most_proved = 0}};
constexpr std::size_t kGrpcOwn = 16;  // epoll, its timers, certificates being read

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t unix_ms() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
}

// Before the first pass of the collector there is no sample: nothing is measured yet.
std::shared_ptr<const metrics::Sample> newest(const Published<metrics::Sample>& samples) {
  auto sample = samples.get();
  return sample ? sample : std::make_shared<const metrics::Sample>();
}

// What probes ask.
HttpHandlers probe_handlers(const Published<NodeView>& views, const Heartbeat& heart) {
  HttpHandlers handlers;
  handlers.not_live = [&heart] { return heart.missing(std::chrono::steady_clock::now()); };
  handlers.not_ready = [&views] {
    const auto view = views.get();
    if (view && view->synchronized) return std::string();
    if (!view || !view->was_synchronized) {
      return std::string("the runtime has not told its containers yet");
    }
    return "no connection to the runtime: " + view->phase;
  };
  return handlers;
}

ListenerFigures figures_of(std::string name, const net::ConnectionFigures& figures) {
  return {.name = std::move(name),
          .open = figures.open,
          .accepted = figures.accepted,
          .closed_for_room = figures.closed_for_room,
          .closed_as_slow = figures.closed_as_slow,
          .closed_as_garbage = figures.closed_as_garbage,
          .shortages = figures.shortages};
}

}  // namespace

Result<std::unique_ptr<Serving>> Serving::start(const Config& config, Published<NodeView>& views,
                                                Published<metrics::Sample>& samples,
                                                const Published<noise::Figures>& noise,
                                                const Heartbeat& heart) {
  std::unique_ptr<Serving> serving(new Serving);
  const api::NodeName name{
      .name = host_name(), .version = std::string(kVersion), .instance = api::new_instance()};
  if (config.api_listen != "off") {
    api::ApiOptions options;
    options.listen = config.api_listen.empty() ? config.local_api() : config.api_listen;
    // Who is on the node needs no certificate.
    if (options.listen.rfind("unix:", 0) != 0) options.local = config.local_api();
    options.tls = {
        .certificate = config.api_cert, .key = config.api_key, .ca = config.api_client_ca};
    options.name = name;
    auto api = api::ApiServer::start(options, views, samples);
    if (!api) return failure(std::move(api.error()).within("apiListen"));
    serving->api_ = std::move(*api);
  }
  if (auto served = serving->serve_http(config, name, views, samples, noise, heart); !served) {
    return failure(std::move(served.error()));
  }
  return serving;
}

Status Serving::serve_http(const Config& config, const api::NodeName& name,
                           const Published<NodeView>& views,
                           const Published<metrics::Sample>& samples,
                           const Published<noise::Figures>& noise, const Heartbeat& heart) {
  HttpHandlers handlers = probe_handlers(views, heart);
  if (!config.probe_listen.empty()) {
    auto probe = HttpServer::start({.listen = config.probe_listen, .limits = kProbeLimits},
                                   handlers, probe_figures_);
    if (!probe) return failure(std::move(probe.error()).within("probeListen"));
    probe_ = std::move(*probe);
  }
  if (config.metrics_listen.empty()) return {};
  handlers.metrics = [this, &views, &samples, &noise, started = unix_ms()](
                         prometheus::Format format, const ScrapeCost& cost) {
    const auto view = views.get();
    if (!view) return std::string();
    const auto kept_off = noise.get();
    return expose(*view, *newest(samples),
                  {.version = std::string(kVersion),
                   .scrape = cost,
                   .process = process_figures(started),
                   .listeners = listeners(),
                   .noise = kept_off ? std::optional(*kept_off) : std::nullopt},
                  format);
  };
  handlers.page = [] { return std::string(kPage); };
  handlers.node_json = [&views, &samples, name] {
    const auto view = views.get();
    if (!view) return std::string("{}");
    return api::snapshot_json(api::snapshot_of(name, *view, samples.get().get()));
  };
  auto http = HttpServer::start({.listen = config.metrics_listen,
                                 .page_anywhere = config.page_anywhere,
                                 .limits = kMetricsLimits},
                                std::move(handlers), metrics_figures_);
  if (!http) return failure(std::move(http.error()).within("metricsListen"));
  metrics_ = std::move(*http);
  return {};
}

std::size_t Serving::descriptors() {
  return api::DoorLimits{}.descriptors() + api::kLocalDoor.descriptors() +
         kMetricsLimits.descriptors() + kProbeLimits.descriptors() + kGrpcOwn;
}

// The API is served before the others begin, and to the end.
std::vector<ListenerFigures> Serving::listeners() const {
  std::vector<ListenerFigures> all;
  if (api_) all.push_back(figures_of("api", api_->figures().connections));
  all.push_back(figures_of("metrics", metrics_figures_));
  all.push_back(figures_of("probe", probe_figures_));
  return all;
}

std::vector<std::pair<std::string, std::string>> Serving::addresses() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (api_) all.emplace_back("api", api_->address());
  if (metrics_) all.emplace_back("metrics", metrics_->address());
  if (probe_) all.emplace_back("probe", probe_->address());
  return all;
}

}  // namespace pinion::agent
