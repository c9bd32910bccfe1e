#include "cluster/extender/pods/pod_group.h"

#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster {

PodGroupView pod_group_of(const nlohmann::json& object) {
  return {.key = kube::json_text(object, "metadata", "namespace") + "/" +
                 kube::json_text(object, "metadata", "name"),
          .members = kube::json_integer(object, "spec", "minMember")};
}

}  // namespace pinion::cluster
