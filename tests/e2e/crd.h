// Stand-ins for kinds whose controllers are not to be had here: any content is taken, as their own
// schemas are not to be had either.
#pragma once

#include <string>

#include "base/error.h"
#include "cluster/extender/kube/api.h"

namespace pinion::e2e {

struct Crd {
  const char* group;
  const char* version;
  const char* kind;
  const char* plural;
};
inline constexpr Crd kMpiJob{"kubeflow.org", "v2beta1", "MPIJob", "mpijobs"};
inline constexpr Crd kJobSet{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"};
inline constexpr Crd kVolcanoJob{"batch.volcano.sh", "v1alpha1", "Job", "jobs"};
inline constexpr Crd kPodGroup{"scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups"};

// Of its objects in the namespace "default".
std::string path_of(const Crd& crd);
// Returns when the API server serves it.
Status add_crd(kube::Api& api, const Crd& crd);

}  // namespace pinion::e2e
