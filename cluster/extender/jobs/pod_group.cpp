#include "cluster/extender/jobs/pod_group.h"

#include "cluster/extender/jobs/entitlement.h"
#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"

namespace pinion::cluster::jobs {

using kube::json_text;
using nlohmann::json;

std::string pod_group_name(const std::string& job_uid) {
  return "pinion-" + job_uid;
}

void join_pod_group(json& pod) {
  if (json_text(pod, "metadata", "annotations", annotation::kPodGroup) != "true") return;
  const json& spec = kube::json_at(pod, "spec");
  if (!spec.is_object() || spec.contains("schedulingGroup")) return;
  if (!json_text(spec, "nodeName").empty()) return;
  const std::string uid = pod_of_template(pod).owner;
  if (!uid.empty()) pod["spec"]["schedulingGroup"] = {{"podGroupName", pod_group_name(uid)}};
}

std::optional<json> pod_group(const json& object, const CutJob& cut) {
  const auto owner = owner_reference(object, cut.job);
  if (!owner) return std::nullopt;
  const json gang = {{"minCount", cut.workers()}};
  return json{{"apiVersion", "scheduling.k8s.io/v1beta1"},
              {"kind", "PodGroup"},
              {"metadata",
               {{"name", pod_group_name(json_text(*owner, "uid"))},
                {"namespace", cut.job.name_space},
                {"ownerReferences", json::array({*owner})}}},
              {"spec", {{"schedulingPolicy", {{"gang", gang}}}}}};
}

}  // namespace pinion::cluster::jobs
