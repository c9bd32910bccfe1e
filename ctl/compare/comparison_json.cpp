#include "ctl/compare/comparison_json.h"

#include <nlohmann/json.hpp>

namespace pinion::ctl {
namespace {

using nlohmann::ordered_json;

ordered_json side_json(const std::vector<double>& values) {
  const auto summary = summary_of(values);
  if (!summary) return ordered_json();
  return {{"values", summary->count},
          {"median", summary->median},
          {"low_quartile", summary->low},
          {"high_quartile", summary->high}};
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  ordered_json measures = ordered_json::array();
  for (const Measure& measure : comparison.measures) {
    ordered_json entry = {{"name", measure.name},
                          {"unit", measure.unit},
                          {"a", side_json(measure.a)},
                          {"b", side_json(measure.b)}};
    if (entry["a"].is_null() && entry["b"].is_null()) continue;
    const auto change = change_percent(measure);
    entry["change_percent"] = change ? ordered_json(*change) : ordered_json();
    entry["chance"] = chance_of(measure);
    entry["verdict"] = to_string(verdict_of(measure));
    measures.push_back(std::move(entry));
  }
  const ordered_json json = {
      {"a", comparison.a_name}, {"b", comparison.b_name}, {"measures", measures}};
  // Names come from the command line and need not be UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pinion::ctl
