#include "cluster/extender/pods/pod_group.h"

#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster {
namespace {

using kube::json_integer;
using kube::json_text;

std::optional<std::int64_t> members_of(PodGroupApi api, const nlohmann::json& object) {
  if (api == PodGroupApi::kSigs) return json_integer(object, "spec", "minMember");
  const nlohmann::json& gang = kube::json_at(object, "spec", "schedulingPolicy", "gang");
  if (!gang.is_object()) return std::nullopt;
  return json_integer(gang, "minCount");
}

}  // namespace

PodGroupView pod_group_of(PodGroupApi api, const nlohmann::json& object) {
  return {.key = group_key(api, json_text(object, "metadata", "namespace"),
                           json_text(object, "metadata", "name")),
          .members = members_of(api, object)};
}

}  // namespace pinion::cluster
