#include "cluster/extender/jobs/pod_group.h"

#include "cluster/extender/jobs/entitlement.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/pods/pod_of.h"
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
  // Of a JobSet too old to label its pods with its uid, of which a child Job alone is known.
  const std::string job = json_text(pod, "metadata", "annotations", annotation::kOwner);
  const json& labels = kube::json_at(pod, "metadata", "labels");
  if (job.starts_with("jobset.x-k8s.io/") && !labels.contains(kJobSetUid)) return;
  const std::string uid = owner_of_template(pod);
  if (!uid.empty()) pod["spec"]["schedulingGroup"] = {{"podGroupName", pod_group_name(uid)}};
}

std::optional<json> pod_group(const json& object, const JobObject& job, int together,
                              const std::string& priority_class) {
  const auto owner = owner_reference(object, job);
  if (!owner) return std::nullopt;
  json spec = {{"schedulingPolicy", {{"gang", {{"minCount", together}}}}}};
  if (!priority_class.empty()) spec["priorityClassName"] = priority_class;
  return json{{"apiVersion", "scheduling.k8s.io/v1beta1"},
              {"kind", "PodGroup"},
              {"metadata",
               {{"name", pod_group_name(json_text(*owner, "uid"))},
                {"namespace", job.name_space},
                {"ownerReferences", json::array({*owner})}}},
              {"spec", std::move(spec)}};
}

}  // namespace pinion::cluster::jobs
