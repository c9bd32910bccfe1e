// A pod with a target, as the API server has it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pinion::cluster::test_support {

inline nlohmann::json service_pod(const std::string& limit = "1",
                                  const std::string& request = "1") {
  const nlohmann::json cpus = {{"limits", {{"cpu", limit}}}, {"requests", {{"cpu", request}}}};
  return {
      {"metadata",
       {{"namespace", "shop"},
        {"name", "web-0"},
        {"uid", "u"},
        {"resourceVersion", "7"},
        {"annotations",
         {{"pinion.dev/service-metric", "sum(rate(served{pod=\"$POD\"}[30s]))"},
          {"pinion.dev/service-target", "1000"},
          {"pinion.dev/service-cpu", "500m..8"}}}}},
      {"spec",
       {{"nodeName", "n1"},
        {"containers", nlohmann::json::array({{{"name", "nginx"}, {"resources", cpus}}})}}},
      {"status",
       {{"phase", "Running"},
        {"qosClass", "Burstable"},
        {"containerStatuses", nlohmann::json::array({{{"name", "nginx"}, {"resources", cpus}}})}}}};
}

// The kubelet's word on a resize that it does not carry out.
inline nlohmann::json refuses_resize(nlohmann::json pod, const std::string& reason) {
  pod["status"]["conditions"] = nlohmann::json::array(
      {{{"type", "PodResizePending"}, {"status", "True"}, {"reason", reason}}});
  return pod;
}

}  // namespace pinion::cluster::test_support
