// A node as text: who runs on it, its sets of CPUs, the room that is left, the picture of the
// machine with its containers, what it can count, whom it refused.
#pragma once

#include <cstdint>
#include <string>

#include "proto/pinion/v1/node.pb.h"
#include "topology/topology.h"

namespace pinion::ctl {

// `machine` is the one that the snapshot tells of; without CPUs the picture is left out.
std::string draw_node(const v1::Snapshot& snapshot, const topology::Topology& machine);

// "2026-01-31 23:59:59Z"; "-" for 0.
std::string utc_text(std::int64_t unix_ms);

}  // namespace pinion::ctl
