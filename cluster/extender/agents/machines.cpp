#include "cluster/extender/agents/machines.h"

#include <algorithm>

#include "agent/client/machine.h"

namespace pinion::cluster {

Result<std::shared_ptr<const topology::Topology>> Machines::of(const v1::Machine& machine) {
  const std::string bytes = machine.SerializeAsString();
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(bytes);
    auto topology = known == known_.end() ? nullptr : known->second.lock();
    if (topology != nullptr) return topology;
  }
  auto built = agent::api::topology_of(machine);
  if (!built) return failure(built.error());
  auto topology = std::make_shared<const topology::Topology>(*std::move(built));
  const std::lock_guard lock(mutex_);
  if (known_.size() >= most_) {
    std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
    most_ = std::max(std::size_t{16}, 2 * known_.size());
  }
  Known& known = known_[bytes];
  // Another thread may have built it meanwhile.
  if (auto first = known.lock(); first != nullptr) return first;
  known = topology;
  return topology;
}

}  // namespace pinion::cluster
