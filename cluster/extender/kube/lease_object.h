// A lease record as an object of coordination.k8s.io/v1.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cluster/extender/kube/election.h"

namespace pinion::kube {

struct LeaseName {
  std::string name_space;
  std::string name;
};

// What is missing or of another kind is empty or 0.
LeaseRecord lease_record(const nlohmann::json& lease);
nlohmann::json lease_object(const LeaseName& name, const LeaseRecord& record);

}  // namespace pinion::kube
