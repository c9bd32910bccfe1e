#include "agent/targets.h"

#include "base/cgroup/paths.h"
#include "topology/words.h"

namespace pinion::agent {
namespace {

// By its cores, also while they are lent.
metrics::Identity identity_of(const NodeView& view, const ContainerView& container) {
  const topology::CpuSet& cpus = container.lent.empty() ? container.decided.cpus : container.lent;
  return {.id = container.id,
          .name_space = container.name_space,
          .pod = container.pod,
          .container = container.name,
          .job = container.job,
          .task_group = container.task_group,
          .profile = std::string(word_of(container.profile, topology::kProfileWords)),
          .exclusive = container.exclusive,
          .cpus = cpus.to_string(),
          .mems = view.topology->nodes_of(cpus).to_string(),
          .qos = std::string(policy::to_string(container.qos))};
}

}  // namespace

const std::vector<metrics::Target>& Targets::update(const NodeView& view) {
  if (view.generation == generation_) return targets_;
  generation_ = view.generation;
  targets_.clear();
  decltype(identities_) identities;
  for (const ContainerView& container : view.containers) {
    if (!container.started) continue;
    auto path = cgroup::path_of(container.cgroups_path);
    if (!path) continue;
    metrics::Identity identity = identity_of(view, container);
    const auto known = identities_.find(container.id);
    const bool same = known != identities_.end() && *known->second == identity;
    auto who =
        same ? known->second : std::make_shared<const metrics::Identity>(std::move(identity));
    identities.emplace(container.id, who);
    targets_.push_back({.who = std::move(who),
                        .cgroup = std::move(*path),
                        .cpus = container.decided.cpus,
                        .exclusive = container.exclusive && container.lent.empty(),
                        .fresh = container.seen_start});
  }
  identities_ = std::move(identities);
  return targets_;
}

}  // namespace pinion::agent
