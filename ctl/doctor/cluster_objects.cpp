#include "ctl/doctor/cluster_objects.h"

#include <openssl/evp.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ctl/common/duration.h"

namespace pinion::ctl::doctor {
namespace {

using nlohmann::json;

// The value at these keys, or null.
const json& at(const json& object, std::initializer_list<const char*> keys) {
  static const json nothing;
  const json* value = &object;
  for (const char* key : keys) {
    const auto found = value->is_object() ? value->find(key) : value->end();
    if (!value->is_object() || found == value->end()) return nothing;
    value = &*found;
  }
  return *value;
}

std::string text_at(const json& object, std::initializer_list<const char*> keys) {
  const json& value = at(object, keys);
  return value.is_string() ? value.get<std::string>() : "";
}

Result<json> items_of(const std::string& text) {
  auto document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!at(document, {"items"}).is_array()) {
    return failure(Errc::kInvalid, "the answer is no list of objects");
  }
  return json(std::move(document["items"]));
}

// Whether the condition of that type is "True".
bool condition(const json& object, const char* type) {
  const json& conditions = at(object, {"status", "conditions"});
  if (!conditions.is_array()) return false;
  for (const json& each : conditions) {
    if (text_at(each, {"type"}) == type) return text_at(each, {"status"}) == "True";
  }
  return false;
}

std::string waiting_reason(const json& pod) {
  const json& containers = at(pod, {"status", "containerStatuses"});
  if (!containers.is_array()) return "";
  for (const json& each : containers) {
    std::string reason = text_at(each, {"state", "waiting", "reason"});
    if (!reason.empty()) return reason;
  }
  return "";
}

// The port of that name, or the extender's default.
int web_port(const json& pod) {
  constexpr int usual = 10271;
  const json& containers = at(pod, {"spec", "containers"});
  if (!containers.is_array()) return usual;
  for (const json& container : containers) {
    const json& ports = at(container, {"ports"});
    if (!ports.is_array()) continue;
    for (const json& port : ports) {
      const json& number = at(port, {"containerPort"});
      if (text_at(port, {"name"}) == "web" && number.is_number_integer()) return number.get<int>();
    }
  }
  return usual;
}

// Base64, as the API server writes bytes; empty for what is none.
std::string decoded(const std::string& text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) return "";
  bytes.resize(static_cast<std::size_t>(length));
  while (!bytes.empty() && bytes.back() == '\0') bytes.pop_back();  // of the padding
  return bytes;
}

}  // namespace

Result<std::vector<ClusterNode>> read_nodes(const std::string& text) {
  const auto items = items_of(text);
  if (!items) return failure(items.error());
  std::vector<ClusterNode> nodes;
  for (const json& each : *items) {
    const std::string os = text_at(each, {"metadata", "labels", "kubernetes.io/os"});
    nodes.push_back({.name = text_at(each, {"metadata", "name"}),
                     .linux = os.empty() || os == "linux",
                     .ready = condition(each, "Ready")});
  }
  return nodes;
}

Result<std::vector<ClusterPod>> read_pods(const std::string& text) {
  const auto items = items_of(text);
  if (!items) return failure(items.error());
  std::vector<ClusterPod> pods;
  for (const json& each : *items) {
    if (!text_at(each, {"metadata", "deletionTimestamp"}).empty()) continue;
    pods.push_back({.name_space = text_at(each, {"metadata", "namespace"}),
                    .name = text_at(each, {"metadata", "name"}),
                    .program = text_at(each, {"metadata", "labels", "app.kubernetes.io/name"}),
                    .node = text_at(each, {"spec", "nodeName"}),
                    .ready = condition(each, "Ready"),
                    .leads = text_at(each, {"metadata", "labels", "pinion.dev/leader"}) == "true",
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
    const json& webhooks = at(configuration, {"webhooks"});
    if (!webhooks.is_array()) continue;
    for (const json& each : webhooks) {
      found.push_back({.name = text_at(each, {"name"}),
                       .ca_bundle = decoded(text_at(each, {"clientConfig", "caBundle"})),
                       .failure_policy = text_at(each, {"failurePolicy"})});
    }
  }
  return found;
}

Result<std::map<std::string, std::int64_t>> read_renewals(const std::string& text) {
  const auto items = items_of(text);
  if (!items) return failure(items.error());
  std::map<std::string, std::int64_t> renewals;
  for (const json& each : *items) {
    const auto time = parse_time(text_at(each, {"spec", "renewTime"}));
    if (time) renewals[text_at(each, {"metadata", "name"})] = static_cast<std::int64_t>(*time);
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
