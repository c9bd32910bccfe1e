// A PodGroup of scheduling.k8s.io, as somebody makes it for a gang of Kubernetes' own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pinion::e2e {

inline constexpr const char* kNativeGroups =
    "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";

// `policy`: spec.schedulingPolicy.
inline nlohmann::json native_group(const std::string& name, const nlohmann::json& policy) {
  return {{"apiVersion", "scheduling.k8s.io/v1beta1"},
          {"kind", "PodGroup"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec", {{"schedulingPolicy", policy}}}};
}
inline nlohmann::json gang_of(int members) {
  return {{"gang", {{"minCount", members}}}};
}

}  // namespace pinion::e2e
