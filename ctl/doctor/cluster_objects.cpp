#include "ctl/doctor/cluster_objects.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cluster/extender/kube/base64.h"
#include "cluster/extender/kube/json_read.h"
#include "ctl/common/times.h"
#include "policy/annotations.h"

namespace pinion::ctl::doctor {
namespace {

using kube::has_condition;
using kube::json_at;
using kube::json_text;
using nlohmann::json;

Result<json> items_of(const std::string& text) {
  auto document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json_at(document, "items").is_array()) {
    return failure(Errc::kInvalid, "the answer is no list of objects");
  }
  return json(std::move(document["items"]));
}

std::string waiting_reason(const json& pod) {
  const json& containers = json_at(pod, "status", "containerStatuses");
  if (!containers.is_array()) return "";
  for (const json& each : containers) {
    std::string reason = json_text(each, "state", "waiting", "reason");
    if (!reason.empty()) return reason;
  }
  return "";
}

// The port of that name, or the extender's default.
int web_port(const json& pod) {
  constexpr int usual = 10271;
  const json& containers = json_at(pod, "spec", "containers");
  if (!containers.is_array()) return usual;
  for (const json& container : containers) {
    const json& ports = json_at(container, "ports");
    if (!ports.is_array()) continue;
    for (const json& port : ports) {
      const json& number = json_at(port, "containerPort");
      if (json_text(port, "name") == "web" && number.is_number_integer()) return number.get<int>();
    }
  }
  return usual;
}

}  // namespace

Result<std::vector<ClusterNode>> read_nodes(const std::string& text) {
  const auto items = items_of(text);
  if (!items) return failure(items.error());
  std::vector<ClusterNode> nodes;
  for (const json& each : *items) {
    const std::string os = json_text(each, "metadata", "labels", "kubernetes.io/os");
    nodes.push_back({.name = json_text(each, "metadata", "name"),
                     .linux = os.empty() || os == "linux",
                     .ready = has_condition(each, "Ready")});
  }
  return nodes;
}

Result<std::vector<ClusterPod>> read_pods(const std::string& text) {
  const auto items = items_of(text);
  if (!items) return failure(items.error());
  std::vector<ClusterPod> pods;
  for (const json& each : *items) {
    if (!json_text(each, "metadata", "deletionTimestamp").empty()) continue;
    pods.push_back({.name_space = json_text(each, "metadata", "namespace"),
                    .name = json_text(each, "metadata", "name"),
                    .program = json_text(each, "metadata", "labels", "app.kubernetes.io/name"),
                    .node = json_text(each, "spec", "nodeName"),
                    .ready = has_condition(each, "Ready"),
                    .leads = json_text(each, "metadata", "labels", label::kLeader) == "true",
                    .web_port = web_port(each),
                    .waiting = waiting_reason(each)});
  }
  return pods;
}

Result<std::vector<Webhook>> read_webhooks(const std::string& text) {
  const auto items = items_of(text);
  if (!items) return failure(items.error());
  std::vector<Webhook> found;
  for (const json& configuration : *items) {
    const json& webhooks = json_at(configuration, "webhooks");
    if (!webhooks.is_array()) continue;
    for (const json& each : webhooks) {
      found.push_back(
          {.name = json_text(each, "name"),
           .ca_bundle =
               kube::decode_base64(json_text(each, "clientConfig", "caBundle")).value_or(""),
           .failure_policy = json_text(each, "failurePolicy")});
    }
  }
  return found;
}

Result<std::map<std::string, std::int64_t>> read_renewals(const std::string& text) {
  const auto items = items_of(text);
  if (!items) return failure(items.error());
  std::map<std::string, std::int64_t> renewals;
  for (const json& each : *items) {
    const auto time = parse_time(json_text(each, "spec", "renewTime"));
    if (time) renewals[json_text(each, "metadata", "name")] = static_cast<std::int64_t>(*time);
  }
  return renewals;
}

Result<Series> read_series(const std::string& text) {
  Series series;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t labels = line.find('}');
    const std::size_t blank = line.find(' ', labels == std::string_view::npos ? 0 : labels);
    if (blank == std::string_view::npos || blank == 0) {
      return failure(Errc::kInvalid, "the answer is no page of metrics");
    }
    const std::string value(line.substr(blank + 1));
    char* stopped = nullptr;
    const double number = std::strtod(value.c_str(), &stopped);
    if (stopped == value.c_str()) {
      return failure(Errc::kInvalid, "the answer is no page of metrics");
    }
    if (std::isfinite(number)) series[std::string(line.substr(0, blank))] = number;
  }
  return series;
}

}  // namespace pinion::ctl::doctor
