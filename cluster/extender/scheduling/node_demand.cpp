#include "cluster/extender/scheduling/node_demand.h"

#include <algorithm>
#include <charconv>

namespace pinion::cluster {
namespace {

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

bool holds(const NodeRequirement& wanted, const std::optional<std::string_view>& value) {
  const auto& values = wanted.values;
  const bool among = value && std::find(values.begin(), values.end(), *value) != values.end();
  if (wanted.op == "In") return among;
  if (wanted.op == "NotIn") return !among;
  if (wanted.op == "Exists") return value.has_value();
  if (wanted.op == "DoesNotExist") return !value.has_value();
  if (wanted.op != "Gt" && wanted.op != "Lt") return true;
  if (!value || values.size() != 1) return false;
  const auto has = integer_in(*value);
  const auto bound = integer_in(values.front());
  if (!has || !bound) return false;
  return wanted.op == "Gt" ? *has > *bound : *has < *bound;
}

bool holds(const NodeTerm& term, std::string_view node, const Labels& labels) {
  if (term.labels.empty() && term.fields.empty()) return false;
  return std::all_of(term.labels.begin(), term.labels.end(),
                     [&](const auto& wanted) { return holds(wanted, labels.find(wanted.key)); }) &&
         std::all_of(term.fields.begin(), term.fields.end(), [&](const auto& wanted) {
           return wanted.key != "metadata.name" || holds(wanted, node);
         });
}

bool tolerates(const Toleration& one, const Taint& taint) {
  if (!one.effect.empty() && one.effect != taint.effect) return false;
  if (!one.key.empty() && one.key != taint.key) return false;
  if (one.op.empty() || one.op == "Equal") return one.value == taint.value && !one.key.empty();
  return true;
}

}  // namespace

Labels::Labels(const std::map<std::string, std::string>& labels) {
  for (const auto& [key, value] : labels) text_.append(key).append("=").append(value).append("\n");
  text_.shrink_to_fit();
}

std::optional<std::string_view> Labels::find(std::string_view key) const {
  for (std::string_view rest = text_; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view one = rest.substr(0, end);
    if (one.size() > key.size() && one.starts_with(key) && one[key.size()] == '=') {
      return one.substr(key.size() + 1);
    }
    rest.remove_prefix(end + 1);
  }
  return std::nullopt;
}

bool tolerates(const NodeDemand& demand, const std::vector<Taint>& taints) {
  return std::all_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    return std::any_of(demand.tolerations.begin(), demand.tolerations.end(),
                       [&](const Toleration& one) { return tolerates(one, taint); });
  });
}

bool selects(const NodeDemand& demand, std::string_view node, const Labels& labels) {
  const bool all =
      std::all_of(demand.selector.begin(), demand.selector.end(),
                  [&](const auto& wanted) { return labels.find(wanted.first) == wanted.second; });
  if (!all || !demand.affinity) return all;
  return std::any_of(demand.affinity->begin(), demand.affinity->end(),
                     [&](const NodeTerm& term) { return holds(term, node, labels); });
}

}  // namespace pinion::cluster
