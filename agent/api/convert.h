// What the agent publishes, as messages of its interface. Values to values: no file, socket, clock
// or thread.
#pragma once

#include <functional>
#include <string>

#include "agent/view.h"
#include "metrics/figures.h"
#include "proto/pinion/v1/node.pb.h"

namespace pinion::agent::api {

// Who answers.
struct NodeName {
  std::string name;      // of the host
  std::string version;   // of the agent
  std::string instance;  // new_instance(), once in the agent's life
};

// Everything about the node but its containers, `machine` included. `sample` (may be nullptr) says
// which events are counted here.
[[nodiscard]] v1::NodeState node_of(const NodeName& name, const NodeView& view,
                                    const metrics::Sample* sample);

[[nodiscard]] v1::Figures figures_of(const metrics::ContainerFigures& figures);
[[nodiscard]] v1::Rates rates_message(const metrics::Rates& rates);

// Calls `take` with each container of the view, and each that only the sample still shows, which is
// finished; ascending by id. `sample` may be nullptr.
void each_container(const NodeView& view, const metrics::Sample* sample,
                    const std::function<void(v1::Container)>& take);

[[nodiscard]] v1::Snapshot snapshot_of(const NodeName& name, const NodeView& view,
                                       const metrics::Sample* sample);

// largest() of each alignment by its word, as in NodeState.
void set_largest(const topology::Topology& topology, const topology::Ledger& ledger,
                 google::protobuf::Map<std::string, std::uint32_t>& largest);

// The snapshot as JSON on one line, by protobuf's mapping with the names of the .proto: 64-bit
// numbers are strings, and what is zero, false or empty is left out.
[[nodiscard]] std::string snapshot_json(const v1::Snapshot& snapshot);

}  // namespace pinion::agent::api
