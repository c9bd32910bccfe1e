// Reads a cluster for the checks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ctl/doctor/cluster_facts.h"

namespace pinion::ctl::doctor {

// kubectl, or what a test says in its place: what it prints with these arguments.
using Kubectl = std::function<Result<std::string>(const std::vector<std::string>& arguments)>;
// Seconds since 1970.
using Clock = std::function<std::int64_t()>;

// Nothing of it fails as a whole: what could not be read is part of the facts.
ClusterFacts read_cluster(const Kubectl& kubectl, const Clock& clock);

}  // namespace pinion::ctl::doctor
