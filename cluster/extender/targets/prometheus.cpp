#include "cluster/extender/targets/prometheus.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster::targets {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

constexpr const char* kServerTimeout = "2s";

// [time, "value"]; values of 64-bit floats as Go writes them: "1.5e+06", "NaN", "+Inf".
Result<std::optional<double>> read_sample(const json& sample) {
  if (!sample.is_array() || sample.size() != 2 || !sample[1].is_string()) {
    return failure(Errc::kUnavailable, "Prometheus's answer has no value in it");
  }
  std::string_view text = sample[1].get_ref<const std::string&>();
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() ||
      (bad != std::errc() && bad != std::errc::result_out_of_range)) {
    return failure(Errc::kUnavailable,
                   "Prometheus's value " + quoted_value(text) + " is no number");
  }
  if (bad != std::errc() || std::isinf(value)) return std::nullopt;
  return value;
}

}  // namespace

std::string query_path(const std::string& promql) {
  return kube::with_query("/api/v1/query", {{"query", promql}, {"timeout", kServerTimeout}});
}

Result<std::optional<double>> read_value(const json& answer) {
  if (json_text(answer, "status") != "success") {
    return failure(Errc::kUnavailable, "Prometheus's answer is none to a query");
  }
  const std::string type = json_text(answer, "data", "resultType");
  const json& result = json_at(answer, "data", "result");
  if (type == "scalar") return read_sample(result);
  if (type != "vector" || !result.is_array()) {
    return failure(Errc::kInvalid, "the query gives a " + quoted_value(type) +
                                       " and not one number, see docs/services.md");
  }
  if (result.empty()) return std::nullopt;
  if (result.size() > 1) {
    return failure(Errc::kInvalid, "the query gives " + std::to_string(result.size()) +
                                       " series and not one: name the pod by $POD and $NAMESPACE, "
                                       "or add them up by sum()");
  }
  return read_sample(json_at(result[0], "value"));
}

}  // namespace pinion::cluster::targets
