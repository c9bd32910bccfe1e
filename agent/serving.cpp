#include "agent/serving.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>

#include "agent/http/process_figures.h"
#include "agent/page.h"
#include "agent/version.h"

namespace pinion::agent {
namespace {

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

HttpHandlers handlers_of(const api::NodeName& name, const Published<NodeView>& views,
                         const Published<metrics::Sample>& samples,
                         const Published<noise::Figures>& noise) {
  HttpHandlers handlers;
  handlers.metrics = [&views, &samples, &noise, started = unix_ms()](prometheus::Format format,
                                                                     const ScrapeCost& cost) {
    const auto view = views.get();
    if (!view) return std::string();
    const auto kept_off = noise.get();
    return expose(*view, *newest(samples),
                  {.version = std::string(kVersion),
                   .scrape = cost,
                   .process = process_figures(started),
                   .noise = kept_off ? std::optional(*kept_off) : std::nullopt},
                  format);
  };
  handlers.not_ready = [&views] {
    const auto view = views.get();
    return view && view->synchronized ? "" : "the runtime has not told its containers yet";
  };
  handlers.page = [] { return std::string(kPage); };
  handlers.node_json = [&views, &samples, name] {
    const auto view = views.get();
    if (!view) return std::string("{}");
    return api::snapshot_json(api::snapshot_of(name, *view, samples.get().get()));
  };
  return handlers;
}

}  // namespace

Result<std::unique_ptr<Serving>> Serving::start(const Config& config, Published<NodeView>& views,
                                                Published<metrics::Sample>& samples,
                                                const Published<noise::Figures>& noise) {
  std::unique_ptr<Serving> serving(new Serving);
  const api::NodeName name{
      .name = host_name(), .version = std::string(kVersion), .instance = api::new_instance()};
  if (config.api_listen != "off") {
    api::ApiOptions options;
    options.listen =
        config.api_listen.empty() ? "unix:" + config.state_dir + "/agent.sock" : config.api_listen;
    options.tls = {
        .certificate = config.api_cert, .key = config.api_key, .ca = config.api_client_ca};
    options.name = name;
    auto api = api::ApiServer::start(options, views, samples);
    if (!api) return failure(std::move(api.error()).within("api-listen"));
    serving->api_ = std::move(*api);
  }
  if (!config.metrics_listen.empty()) {
    auto http = HttpServer::start(
        {.listen = config.metrics_listen, .page_anywhere = config.page_anywhere, .limits = {}},
        handlers_of(name, views, samples, noise));
    if (!http) return failure(std::move(http.error()).within("metrics-listen"));
    serving->http_ = std::move(*http);
  }
  return serving;
}

std::vector<std::pair<std::string, std::string>> Serving::addresses() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (api_) all.emplace_back("api", api_->address());
  if (http_) all.emplace_back("metrics", http_->address());
  return all;
}

}  // namespace pinion::agent
