// Virtual clusters for people and for scripts.
#pragma once

#include <string>
#include <vector>

#include "ctl/vc/virtual_clusters.h"

namespace pinion::ctl {

// A line for each.
std::string draw_virtual_clusters(const std::vector<VirtualCluster>& clusters);
// A line for each of their jobs.
std::string draw_virtual_jobs(const std::vector<VirtualCluster>& clusters);
// As ctl/README.md says.
std::string virtual_clusters_json(const std::vector<VirtualCluster>& clusters);

}  // namespace pinion::ctl
