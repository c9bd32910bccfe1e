// Range queries over Prometheus's HTTP API.
#pragma once

#include <string>
#include <utility>
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

  // The values of the query's one series, one for each step. Errors: kUnavailable (nobody there, no
  // whole answer in 30 s, an answer above 16 MiB), those of parse_range_answer(), and the HTTP
  // status where the answer is no JSON.
  Result<std::vector<double>> query(const std::string& promql, const Range& range) const;

 private:
  PrometheusClient(std::string url, std::string base)
      : url_(std::move(url)), base_(std::move(base)) {}

  std::string url_;   // as given
  std::string base_;  // in front of /api
};

}  // namespace pinion::ctl
