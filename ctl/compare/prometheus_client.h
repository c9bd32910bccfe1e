// Range queries over Prometheus's HTTP API.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::ctl {

struct Range {
  double from = 0;  // Unix seconds
  double to = 0;
  double step = 0;  // seconds
};

class PrometheusClient {
 public:
  // "http://HOST:PORT", "https://...", with a path in front of /api where a proxy wants one. Error:
  // kInvalid. Nothing is connected yet.
  static Result<PrometheusClient> create(const std::string& url);

  PrometheusClient(PrometheusClient&&) noexcept;
  PrometheusClient& operator=(PrometheusClient&&) noexcept;
  ~PrometheusClient();

  // The values of the query's one series, one for each step. Errors: kUnavailable (nobody there, no
  // answer in 30 s, an answer above 16 MiB), those of parse_range_answer(), and the HTTP status
  // where the answer is no JSON.
  Result<std::vector<double>> query(const std::string& promql, const Range& range);

 private:
  struct Parts;  // keeps the HTTP library out of this header
  explicit PrometheusClient(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pinion::ctl
