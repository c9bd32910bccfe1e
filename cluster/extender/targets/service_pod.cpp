#include "cluster/extender/targets/service_pod.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"

namespace pinion::cluster::targets {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

constexpr std::string_view kNames = "pinion.dev/service-";
constexpr std::size_t kLongestQuery = 2048;
constexpr std::int64_t kMostMilli = 4'096'000;
constexpr std::int64_t kMostSettleSeconds = 600;
constexpr std::array kDirectionWords{Word<Direction>{"at-least", Direction::kAtLeast},
                                     Word<Direction>{"at-most", Direction::kAtMost}};
// As the agent counts it.
constexpr const char* kUseQuery =
    "sum(rate(pinion_container_cpu_seconds_total"
    "{namespace=\"$NAMESPACE\",pod=\"$POD\",container=\"$CONTAINER\"}[30s]))";

std::string annotated(const json& pod, const char* name) {
  return json_text(pod, "metadata", "annotations", name);
}

tl::unexpected<Error> wrong(const char* name, const std::string& why) {
  return failure(Errc::kInvalid, std::string("annotation ") + name + ": " + why);
}

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

// Names of pods have no quotes in them, so that nothing ends a label's value early.
std::string filled(std::string query, const ServicePod& service) {
  replace_all(query, "$NAMESPACE", service.pod.name_space);
  replace_all(query, "$POD", service.pod.name);
  replace_all(query, "$CONTAINER", service.container);
  return query;
}

Result<double> read_target(const std::string& text) {
  double value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = bad == std::errc() && end == text.data() + text.size();
  if (!whole || !std::isfinite(value) || value <= 0) {
    return wrong(annotation::kServiceTarget,
                 quoted_value(text) + " is no number above 0, such as 1200 or 0.25");
  }
  return value;
}

Result<std::int64_t> read_settle(const std::string& text) {
  std::int64_t seconds = -1;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (bad != std::errc() || std::string_view(end, text.data() + text.size()) != "s" ||
      seconds < 0 || seconds > kMostSettleSeconds) {
    return wrong(annotation::kServiceSettle,
                 quoted_value(text) + " is not of the kind 20s, 600s at most");
  }
  return seconds * 1000;
}

Status read_bounds(const std::string& text, ServiceTarget& target) {
  const auto dots = text.find("..");
  const auto bad = [&] {
    return wrong(annotation::kServiceCpu, (text.empty() ? "missing" : quoted_value(text)) +
                                              ", write the least and the most CPUs as 500m..8");
  };
  if (dots == std::string::npos) return bad();
  const auto least = milli_quantity(std::string_view(text).substr(0, dots));
  const auto most = milli_quantity(std::string_view(text).substr(dots + 2));
  if (!least || !most || *least < 1 || *most < *least || *most > kMostMilli) return bad();
  target.min_milli = *least;
  target.max_milli = *most;
  return {};
}

Result<ServiceTarget> read_goal(const json& pod) {
  ServiceTarget target;
  const auto value = read_target(annotated(pod, annotation::kServiceTarget));
  if (!value) return failure(value.error());
  target.target = *value;
  if (const std::string word = annotated(pod, annotation::kServiceDirection); !word.empty()) {
    const auto known = value_of(word, kDirectionWords);
    if (!known) {
      return wrong(annotation::kServiceDirection,
                   quoted_value(word) + " is none of " + list_of(kDirectionWords));
    }
    target.direction = *known;
  }
  if (Status good = read_bounds(annotated(pod, annotation::kServiceCpu), target); !good)
    return failure(good.error());
  if (const std::string text = annotated(pod, annotation::kServiceSettle); !text.empty()) {
    const auto settle = read_settle(text);
    if (!settle) return failure(settle.error());
    target.settle_ms = *settle;
  }
  if (const std::string word = annotated(pod, annotation::kServicePolicy); !word.empty()) {
    const auto known = value_of(word, kServicePolicyWords);
    if (!known) {
      return wrong(annotation::kServicePolicy,
                   quoted_value(word) + " is none of " + list_of(kServicePolicyWords));
    }
    target.policy = *known;
  }
  return target;
}

const json& named(const json& list, const std::string& name) {
  static const json nothing;
  for (const json& one : list) {
    if (json_text(one, "name") == name) return one;
  }
  return nothing;
}

Result<std::string> read_container(const json& pod) {
  const json& containers = json_at(pod, "spec", "containers");
  const std::string name = annotated(pod, annotation::kServiceContainer);
  if (name.empty() && containers.is_array() && containers.size() == 1) {
    std::string only = json_text(containers[0], "name");
    if (only.empty()) return failure(Errc::kInvalid, "the pod's container has no name");
    return only;
  }
  if (name.empty()) {
    return wrong(annotation::kServiceContainer,
                 "missing; the pod has several containers, say which one is resized");
  }
  if (named(containers, name).is_null()) {
    return wrong(annotation::kServiceContainer, "the pod has no container " + quoted_value(name));
  }
  return name;
}

// 0: there is none, or it is no amount.
std::int64_t milli_of(const json& resources, const char* kind) {
  const auto milli = milli_quantity(json_text(resources, kind, "cpu"));
  return milli && *milli <= kMostMilli ? std::max<std::int64_t>(*milli, 0) : 0;
}

Resize resize_of(const json& pod) {
  for (const json& condition : json_at(pod, "status", "conditions")) {
    if (json_text(condition, "type") != "PodResizePending") continue;
    if (json_text(condition, "status") != "True") continue;
    return json_text(condition, "reason") == "Infeasible" ? Resize::kInfeasible : Resize::kDeferred;
  }
  return Resize::kNone;
}

Status read_amounts(const json& pod, ServicePod& service) {
  const json& spec =
      json_at(named(json_at(pod, "spec", "containers"), service.container), "resources");
  service.limit_milli = milli_of(spec, "limits");
  service.request_milli = milli_of(spec, "requests");
  if (service.limit_milli == 0 || service.request_milli == 0) {
    return failure(Errc::kInvalid, "container " + quoted_value(service.container) +
                                       " has no CPU limit that could be changed: state "
                                       "resources.limits.cpu");
  }
  const json& applied =
      json_at(named(json_at(pod, "status", "containerStatuses"), service.container), "resources");
  service.applied_limit_milli = milli_of(applied, "limits");
  service.applied_request_milli = milli_of(applied, "requests");
  if (service.applied_limit_milli == 0) service.applied_limit_milli = service.limit_milli;
  if (service.applied_request_milli == 0) service.applied_request_milli = service.request_milli;
  return {};
}

// The agent's annotations may end in a container's name; these may not.
Status check_names(const json& pod) {
  for (const auto& [name, value] : json_at(pod, "metadata", "annotations").items()) {
    if (!name.starts_with(kNames) || name.find('.', kNames.size()) == std::string::npos) continue;
    return failure(Errc::kInvalid, "annotation " + quoted_value(name) +
                                       ": holds for no container, " +
                                       annotation::kServiceContainer + " says which is resized");
  }
  return {};
}

// A Guaranteed pod that came to whole CPUs would get cores of its own when its container starts
// again.
Status check_sharing(const json& pod, const std::string& container) {
  if (json_text(pod, "status", "qosClass") != "Guaranteed") return {};
  // The agent reads that of the container first.
  const std::string own = std::string(annotation::kCpus) + "." + container;
  const json& annotations = json_at(pod, "metadata", "annotations");
  const bool has_own = !json_at(annotations, own.c_str()).is_null();
  if (json_text(annotations, has_own ? own.c_str() : annotation::kCpus) == "shared") return {};
  return failure(Errc::kInvalid,
                 "a Guaranteed pod gets cores of its own, which are not resized to a target: set "
                 "the annotation pinion.dev/cpus: shared, or request less memory than its limit");
}

}  // namespace

bool is_service(const json& pod) {
  return json_at(pod, "metadata", "annotations", annotation::kServiceMetric).is_string();
}

Result<ServicePod> read_service(const json& pod) {
  ServicePod service;
  service.pod = {.name_space = json_text(pod, "metadata", "namespace"),
                 .name = json_text(pod, "metadata", "name"),
                 .uid = json_text(pod, "metadata", "uid")};
  service.resource_version = json_text(pod, "metadata", "resourceVersion");
  service.node = json_text(pod, "spec", "nodeName");
  service.running = json_text(pod, "status", "phase") == "Running" &&
                    json_text(pod, "metadata", "deletionTimestamp").empty();
  const std::string metric = annotated(pod, annotation::kServiceMetric);
  if (metric.empty() || metric.size() > kLongestQuery) {
    return wrong(
        annotation::kServiceMetric,
        "write a query of PromQL, of " + std::to_string(kLongestQuery) + " characters at most");
  }
  auto target = read_goal(pod);
  if (!target) return failure(target.error());
  service.target = *target;
  auto container = read_container(pod);
  if (!container) return failure(container.error());
  service.container = *std::move(container);
  if (Status good = check_names(pod); !good) return failure(good.error());
  if (Status good = check_sharing(pod, service.container); !good) return failure(good.error());
  if (Status good = read_amounts(pod, service); !good) return failure(good.error());
  service.metric = filled(metric, service);
  if (service.metric.size() > 2 * kLongestQuery) {
    return wrong(annotation::kServiceMetric, "too long once the pod's names are in it");
  }
  service.use = filled(kUseQuery, service);
  service.resize = resize_of(pod);
  return service;
}

std::int64_t request_for(const ServicePod& service, std::int64_t limit_milli) {
  // Rounded, so that nothing is lost by going up and down; all are at most kMostMilli.
  const std::int64_t whole = service.limit_milli;
  std::int64_t part = (2 * limit_milli * service.request_milli + whole) / (2 * whole);
  if (service.request_milli < whole) part = std::min(part, limit_milli - 1);
  return std::max<std::int64_t>(part, 1);
}

}  // namespace pinion::cluster::targets
