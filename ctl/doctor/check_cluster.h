// From what was read of a cluster to what is wrong with it. Pure.
#pragma once

#include "ctl/doctor/cluster_facts.h"
#include "ctl/doctor/finding.h"

namespace pinion::ctl::doctor {

// Each node of Linux has an agent, and each agent is ready.
Findings check_agents(const ClusterFacts& facts);
// There is an extender that leads, hears the agents and is asked by a scheduler.
Findings check_extender(const ClusterFacts& facts);
// The API server can trust the webhook, now and for a while.
Findings check_webhooks(const ClusterFacts& facts);
// The nodes' clocks and ours go together.
Findings check_clocks(const ClusterFacts& facts);

// All of them.
Findings check_cluster(const ClusterFacts& facts);

}  // namespace pinion::ctl::doctor
