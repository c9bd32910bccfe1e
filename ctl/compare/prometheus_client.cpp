#include "ctl/compare/prometheus_client.h"

#include <httplib.h>

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "ctl/common/http_address.h"
#include "ctl/compare/prometheus_query.h"

namespace pinion::ctl {
namespace {

constexpr time_t kConnectSeconds = 5;
constexpr time_t kReadSeconds = 30;
constexpr std::size_t kMaxAnswer = std::size_t{16} << 20;

std::string seconds_text(double seconds) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f", seconds);
  return text.data();
}

}  // namespace

struct PrometheusClient::Parts {
  explicit Parts(const std::string& server) : http(server) {}

  std::string url;
  std::string path;
  httplib::Client http;
};

PrometheusClient::PrometheusClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PrometheusClient::PrometheusClient(PrometheusClient&&) noexcept = default;
PrometheusClient& PrometheusClient::operator=(PrometheusClient&&) noexcept = default;
PrometheusClient::~PrometheusClient() = default;

Result<PrometheusClient> PrometheusClient::create(const std::string& url) {
  auto address = parse_http_address(url);
  if (!address) return failure(std::move(address.error()));
  auto parts = std::make_unique<Parts>(address->origin);
  if (!parts->http.is_valid()) {
    return failure(Errc::kInvalid, "'" + url + "' is no URL such as http://127.0.0.1:9090");
  }
  parts->url = url;
  parts->path = std::move(address->path);
  parts->http.set_connection_timeout(kConnectSeconds);
  parts->http.set_read_timeout(kReadSeconds);
  return PrometheusClient(std::move(parts));
}

Result<std::vector<double>> PrometheusClient::query(const std::string& promql, const Range& range) {
  const httplib::Params params = {{"query", promql},
                                  {"start", seconds_text(range.from)},
                                  {"end", seconds_text(range.to)},
                                  {"step", seconds_text(range.step)}};
  const std::string target =
      httplib::append_query_params(parts_->path + "/api/v1/query_range", params);
  std::string body;
  const auto response = parts_->http.Get(target, [&](const char* data, std::size_t length) {
    if (body.size() + length > kMaxAnswer) return false;
    body.append(data, length);
    return true;
  });
  if (!response) {
    return failure(Errc::kUnavailable, parts_->url + ": " + httplib::to_string(response.error()));
  }
  auto values = parse_range_answer(body);
  if (values) return values;
  const int status = response->status;
  if (status != 200 && status != 400 && status != 422) {
    return failure(Errc::kUnavailable, parts_->url + ": HTTP status " + std::to_string(status));
  }
  return failure(std::move(values.error()).within(parts_->url));
}

}  // namespace pinion::ctl
