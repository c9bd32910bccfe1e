#include "agent/http/site.h"

#include <chrono>

#include "agent/http/gzip.h"
#include "metrics/prometheus/negotiate.h"

namespace pinion::agent {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";
// Put into a request for ourselves; a name that no client can send.
constexpr const char* kGzipWanted = ":gzip";
// The page is one file and asks this server only.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// Below this the gzip header outweighs what is saved.
constexpr std::size_t kWorthPacking = 512;

void answer(const httplib::Request& request, httplib::Response& response, std::string text,
            const char* type) {
  if (text.size() >= kWorthPacking && request.has_header(kGzipWanted)) {
    if (auto packed = gzip(text)) {
      text = std::move(*packed);
      response.set_header("Content-Encoding", "gzip");
    }
  }
  response.body = std::move(text);
  response.set_header("Content-Type", type);
  response.set_header("Vary", "Accept, Accept-Encoding");
}

void complain(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", kPlain);
}

// Before httplib looks at them. It would answer a list of ranges with one copy each, thousands in
// one header; and it prefers brotli at its slowest to gzip, and packs no OpenMetrics.
void prepare(httplib::Request& request) {
  request.ranges.clear();
  const bool gzip = prometheus::wants_gzip(request.get_header_value("Accept-Encoding"));
  request.headers.erase("Accept-Encoding");
  if (gzip) request.headers.emplace(kGzipWanted, "");
}

}  // namespace

Site::Site(HttpHandlers handlers, Pages pages) : handlers_(std::move(handlers)), pages_(pages) {
  // Paths are compared here and not by httplib, which matches regular expressions.
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return route(request, response);
  });
  set_exception_handler(
      [](const httplib::Request& /*request*/, httplib::Response& response,
         const std::exception_ptr& /*what*/) { complain(response, 500, "internal error"); });
}

bool Site::serve_one(httplib::Stream& stream) {
  bool closed = false;
  return process_request(stream, /*close_connection=*/true, closed, prepare);
}

httplib::Server::HandlerResponse Site::route(const httplib::Request& request,
                                             httplib::Response& response) {
  response.status = 200;
  response.set_header("Cache-Control", "no-store");
  response.set_header("X-Content-Type-Options", "nosniff");
  if (request.method != "GET" && request.method != "HEAD") {
    response.set_header("Allow", "GET, HEAD");
    complain(response, 405, "only GET and HEAD");
  } else if (request.path == "/metrics" && handlers_.metrics) {
    metrics(request, response);
  } else if (request.path == "/livez") {
    health(response, handlers_.not_live);
  } else if (request.path == "/readyz") {
    health(response, handlers_.not_ready);
  } else if (request.path == "/" && handlers_.page) {
    response.set_header("Content-Security-Policy", kPagePolicy);
    page(request, response, handlers_.page, "text/html; charset=utf-8");
  } else if (request.path == "/api/v1/node" && handlers_.node_json) {
    page(request, response, handlers_.node_json, "application/json");
  } else {
    complain(response, 404,
             handlers_.metrics ? "not here; there are /metrics, /livez and /readyz"
                               : "not here; there are /livez and /readyz");
  }
  return HandlerResponse::Handled;
}

void Site::metrics(const httplib::Request& request, httplib::Response& response) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto format = prometheus::negotiate_format(request.get_header_value("Accept"));
  std::string text = handlers_.metrics(format, cost_);
  const std::size_t bytes = text.size();
  answer(request, response, std::move(text), prometheus::content_type(format).data());
  ++cost_.scrapes;
  cost_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  cost_.bytes = bytes;
}

void Site::health(httplib::Response& response, const std::function<std::string()>& not_well) {
  const std::string reason = not_well ? not_well() : "";
  if (reason.empty()) {
    response.set_content("ok\n", kPlain);
  } else {
    complain(response, 503, reason);
  }
}

void Site::page(const httplib::Request& request, httplib::Response& response,
                const std::function<std::string()>& content, const char* type) const {
  if (pages_ == Pages::kNobody) {
    complain(response, 403, "served on loopback addresses only, unless the configuration says so");
  } else if (pages_ == Pages::kThisMachine &&
             !prometheus::host_is_plain(request.get_header_value("Host"))) {
    complain(response, 403, "ask for localhost or an address");
  } else {
    answer(request, response, content(), type);
  }
}

}  // namespace pinion::agent
