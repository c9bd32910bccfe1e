// On how many nodes a job may be.
#include "cluster/core/scheduler.h"

#include <algorithm>

namespace pinion::cluster {

// On how many nodes they may be that the fleet knows to have some of the job.
int Scheduler::node_limit(const Job& job) const {
  if (job.spec.nodes == 0 || job.members.empty()) return kAnyNumber;
  const auto known = fleet_.nodes_of_job(job.members.begin()->second.requests.front().job);
  std::set<std::string_view> others;
  for (const auto& [id, member] : job.members) {
    if (!member.node.empty() && !known.contains(fleet_.find(member.node))) {
      others.insert(member.node);
    }
  }
  return std::max(0, job.spec.nodes - static_cast<int>(others.size()));
}

std::optional<std::set<NodeIndex>> Scheduler::kept_to(const Job& job, const Member& member) const {
  if (job.spec.nodes == 0) return std::nullopt;
  auto nodes = fleet_.nodes_of_job(member.requests.front().job);
  if (static_cast<int>(nodes.size()) < node_limit(job)) return std::nullopt;
  return nodes;
}

// Where members have been started elsewhere than planned, what is reserved may be on too many
// nodes.
void Scheduler::heed_limit(const Job& job, std::int64_t now_ms) {
  if (job.spec.nodes == 0) return;
  std::set<std::string_view> there;
  std::set<std::string_view> all;
  for (const auto& [id, member] : job.members) {
    if (member.fixed()) there.insert(member.node);
    if (!member.node.empty()) all.insert(member.node);
  }
  if (static_cast<int>(all.size()) <= job.spec.nodes || all.size() == there.size()) return;
  withdraw(job.id, "members of the job run on other nodes", now_ms);
}

}  // namespace pinion::cluster
