// From what the main thread owns to what everybody else may read.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "agent/node.h"
#include "agent/published.h"
#include "agent/view.h"
#include "nri-plugin/connection.h"

namespace pinion::agent {

// A copy of all that readers see. `topology` is the engine's own, shared by all views: it never
// changes while the agent runs.
[[nodiscard]] NodeView make_view(const Node& node, const nri::Connection& connection,
                                 std::shared_ptr<const topology::Topology> topology);

// Makes a new view after changes, at most every 20 ms: a burst of events costs one copy.
class ViewPublisher {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  ViewPublisher(const Node& node, Published<NodeView>& views, bool fence_weakened = false);

  // Publishes what is now.
  void publish(TimePoint now, const Node& node, const nri::Connection& connection);
  // Does so when something has changed and the last time is long enough ago.
  void consider(TimePoint now, const Node& node, const nri::Connection& connection);
  // The newest view that others see knows all containers.
  [[nodiscard]] bool shown_synchronized() const { return shown_synchronized_; }
  // When consider() has something to do.
  [[nodiscard]] std::optional<TimePoint> deadline() const { return due_; }

 private:
  Published<NodeView>& views_;
  std::shared_ptr<const topology::Topology> topology_;
  bool fence_weakened_;
  std::uint64_t machine_changes_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t version_ = 0;  // of the node, when last published
  std::optional<nri::Phase> phase_;
  bool shown_synchronized_ = false;
  TimePoint next_;
  std::optional<TimePoint> due_;
};

}  // namespace pinion::agent
