#include "agent/http/site.h"

#include <chrono>
#include <exception>
#include <utility>

#include "agent/http/gzip.h"
#include "metrics/prometheus/negotiate.h"

namespace pinion::agent {
namespace {

using net::HttpAnswer;
using net::HttpRequest;

// The page is one file and asks this server only.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// Below this the gzip header outweighs what is saved.
constexpr std::size_t kWorthPacking = 512;

HttpAnswer new_answer() {
  return {.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}}};
}

void set(const HttpRequest& request, HttpAnswer& answer, std::string text, std::string_view type) {
  if (text.size() >= kWorthPacking && prometheus::wants_gzip(request.header("Accept-Encoding"))) {
    if (auto packed = gzip(text)) {
      text = *std::move(packed);
      answer.headers.emplace_back("Content-Encoding", "gzip");
    }
  }
  answer.headers.emplace_back("Vary", "Accept, Accept-Encoding");
  answer.set(type, std::move(text));
}

}  // namespace

Site::Site(HttpHandlers handlers, Pages pages) : handlers_(std::move(handlers)), pages_(pages) {}

HttpAnswer Site::answer(const HttpRequest& request) {
  HttpAnswer answer = new_answer();
  try {
    route(request, answer);
  } catch (const std::exception&) {
    answer = new_answer();
    answer.complain(500, "internal error");
  }
  return answer;
}

void Site::route(const HttpRequest& request, HttpAnswer& answer) {
  if (request.method != "GET" && request.method != "HEAD") {
    answer.headers.emplace_back("Allow", "GET, HEAD");
    answer.complain(405, "only GET and HEAD");
  } else if (request.path == "/metrics" && handlers_.metrics) {
    metrics(request, answer);
  } else if (request.path == "/livez") {
    health(answer, handlers_.not_live);
  } else if (request.path == "/readyz") {
    health(answer, handlers_.not_ready);
  } else if (request.path == "/" && handlers_.page) {
    answer.headers.emplace_back("Content-Security-Policy", kPagePolicy);
    page(request, answer, handlers_.page, "text/html; charset=utf-8");
  } else if (request.path == "/api/v1/node" && handlers_.node_json) {
    page(request, answer, handlers_.node_json, "application/json");
  } else {
    answer.complain(404, handlers_.metrics ? "not here; there are /metrics, /livez and /readyz"
                                           : "not here; there are /livez and /readyz");
  }
}

void Site::metrics(const HttpRequest& request, HttpAnswer& answer) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto format = prometheus::negotiate_format(request.header("Accept"));
  std::string text = handlers_.metrics(format, cost_);
  const std::size_t bytes = text.size();
  set(request, answer, std::move(text), prometheus::content_type(format));
  ++cost_.scrapes;
  cost_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  cost_.bytes = bytes;
}

void Site::health(HttpAnswer& answer, const std::function<std::string()>& not_well) {
  const std::string reason = not_well ? not_well() : "";
  if (!reason.empty()) return answer.complain(503, reason);
  answer.set(net::kPlainText, "ok\n");
}

void Site::page(const HttpRequest& request, HttpAnswer& answer,
                const std::function<std::string()>& content, std::string_view type) const {
  if (pages_ == Pages::kNobody) {
    answer.complain(403,
                    "served only where metricsListen is a loopback address, unless pageAnywhere is "
                    "true");
  } else if (pages_ == Pages::kThisMachine && !prometheus::host_is_plain(request.header("Host"))) {
    answer.complain(403, "ask for localhost or an address");
  } else {
    set(request, answer, content(), type);
  }
}

}  // namespace pinion::agent
