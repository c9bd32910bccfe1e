#include "ctl/compare/prometheus_client.h"

#include <array>
#include <cstdio>
#include <utility>

#include "ctl/common/ask_http.h"
#include "ctl/common/http_address.h"
#include "ctl/compare/prometheus_query.h"

namespace pinion::ctl {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{16} << 20;

std::string seconds_text(double seconds) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f", seconds);
  return text.data();
}

}  // namespace

Result<PrometheusClient> PrometheusClient::create(const std::string& url) {
  auto address = parse_http_address(url);
  if (!address) return failure(std::move(address.error()));
  return PrometheusClient(url, address->origin + address->path);
}

Result<std::vector<double>> PrometheusClient::query(const std::string& promql,
                                                    const Range& range) const {
  const auto answer = ask_http(
      {.url = with_query(base_ + "/api/v1/query_range", {{"query", promql},
                                                         {"start", seconds_text(range.from)},
                                                         {"end", seconds_text(range.to)},
                                                         {"step", seconds_text(range.step)}})},
      {.body_bytes = kMaxAnswer});
  if (!answer) return failure(answer.error().within(url_));
  auto values = parse_range_answer(answer->body);
  if (values) return values;
  const int status = answer->status;
  if (status != 200 && status != 400 && status != 422) {
    return failure(Errc::kUnavailable, url_ + ": HTTP status " + std::to_string(status));
  }
  return failure(std::move(values.error()).within(url_));
}

}  // namespace pinion::ctl
