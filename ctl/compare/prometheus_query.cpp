#include "ctl/compare/prometheus_query.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/cli/table.h"

namespace pinion::ctl {
namespace {

using nlohmann::json;

// A member of an object, or nullptr.
const json* member(const json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto place = object->find(key);
  return place == object->end() ? nullptr : &*place;
}

// A label's value as PromQL writes it.
std::string label_value(std::string_view text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '\n') {
      safe += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "\"";
}

// 1 for each container of the job; one series each even while its info series changes.
std::string containers_of(const Selection& selection) {
  const std::string info = "pinion_container_info";
  std::string chosen = info;
  if (!selection.job.empty()) {
    const std::string job = label_value(selection.job);
    chosen = info + "{exported_job=" + job + "} or " + info + "{exported_job=\"\",job=" + job + "}";
  }
  return "max by (namespace,pod,container) (" + chosen + ")";
}

// The sum over the containers of the selection of a rate by (namespace, pod, container).
std::string summed(const std::string& rate, const Selection& selection) {
  return "sum(sum by (namespace,pod,container) (" + rate + ") * on (namespace,pod,container) " +
         containers_of(selection) + ")";
}

}  // namespace

std::string promql_of(Quantity quantity, const Selection& selection, std::string_view window) {
  const auto rate = [&](const std::string& series, const std::string& labels = "") {
    return "rate(pinion_container_" + series + labels + "[" + std::string(window) + "])";
  };
  const auto sum = [&](const std::string& text) { return summed(text, selection); };
  switch (quantity) {
    case Quantity::kCpu:
      return sum(rate("cpu_seconds_total"));
    case Quantity::kMigrations:
      return sum(rate("cpu_migrations_total"));
    case Quantity::kInvoluntary:
      return sum(rate("involuntary_switches_total"));
    case Quantity::kSwitches:
      return sum(rate("context_switches_total"));
    case Quantity::kWait:
      return sum(rate("run_queue_wait_seconds_total"));
    case Quantity::kL3Misses:
      return sum(rate("l3_misses_total"));
    case Quantity::kMpki:
      return "1000 * " + sum(rate("l3_misses_total")) + " / " + sum(rate("instructions_total"));
    case Quantity::kIpc:
      return sum(rate("instructions_total")) + " / " + sum(rate("cycles_total"));
    case Quantity::kRemote:
      return "100 * " + sum(rate("memory_accesses_total", "{locality=\"remote\"}")) + " / " +
             sum(rate("memory_accesses_total"));
    case Quantity::kIntrusion:
      return "100 * " + sum(rate("core_intrusion_seconds_total")) + " / " +
             sum("pinion_container_exclusive_cpus");
  }
  return "";
}

Result<std::vector<double>> parse_range_answer(std::string_view text) {
  const json answer = json::parse(text, nullptr, false);
  const auto wrong = [](const std::string& what) {
    return failure(Errc::kInvalid, "no answer of Prometheus: " + what);
  };
  if (!answer.is_object()) return wrong("not a JSON object");
  if (const json* error = member(&answer, "error"); error != nullptr && error->is_string()) {
    return failure(Errc::kInvalid, "Prometheus refuses: " + plain(error->get<std::string>()));
  }
  const json* result = member(member(&answer, "data"), "result");
  if (result == nullptr || !result->is_array()) return wrong("it has no result");
  if (result->size() > 1) return wrong("more than one series");
  std::vector<double> values;
  if (result->empty()) return values;
  const json* points = member(&result->front(), "values");
  if (points == nullptr || !points->is_array()) return wrong("a series without values");
  for (const json& point : *points) {
    if (!point.is_array() || point.size() != 2 || !point[1].is_string()) {
      return wrong("a value that is no pair of time and text");
    }
    const auto number = point[1].get<std::string>();
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);  // "NaN" and "+Inf" too
    if (number.empty() || end != number.data() + number.size()) {
      return wrong("'" + plain(number) + "' is no number");
    }
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

}  // namespace pinion::ctl
