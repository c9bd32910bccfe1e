#include "agent/client/mirror.h"

namespace pinion::agent::api {

Status Mirror::apply(const v1::WatchNodeResponse& message) {
  if (message.has_snapshot()) {
    apply(message.snapshot());
    return {};
  }
  if (!complete_) return failure(Errc::kInvalid, "a watch began without a snapshot");
  const std::uint64_t generation =
      message.has_change() ? message.change().generation() : message.heartbeat().generation();
  // An event that this reader does not know has no generation: it is ignored.
  if (!message.has_change() && !message.has_heartbeat()) return {};
  if (generation < node_.generation()) {
    return failure(Errc::kInvalid, "generation " + std::to_string(generation) + " came after " +
                                       std::to_string(node_.generation()));
  }
  if (message.has_change()) apply(message.change());
  return {};
}

void Mirror::apply(const v1::Snapshot& snapshot) {
  complete_ = true;
  node_ = snapshot.node();
  pass_ = snapshot.pass();
  containers_.clear();
  for (const v1::Container& container : snapshot.containers()) {
    containers_[container.id()] = container;
  }
}

void Mirror::apply(const v1::Change& change) {
  if (change.has_node()) {
    v1::NodeState node = change.node();
    if (!node.has_machine()) node.mutable_machine()->Swap(node_.mutable_machine());
    node_ = std::move(node);
  }
  node_.set_generation(change.generation());
  pass_ = change.pass();
  for (const std::string& id : change.removed()) containers_.erase(id);
  for (const v1::Container& container : change.containers()) {
    containers_[container.id()] = container;
  }
}

v1::Snapshot Mirror::snapshot() const {
  v1::Snapshot snapshot;
  *snapshot.mutable_node() = node_;
  snapshot.set_pass(pass_);
  for (const auto& [id, container] : containers_) *snapshot.add_containers() = container;
  return snapshot;
}

}  // namespace pinion::agent::api
