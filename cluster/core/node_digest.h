// A node's holes in two cache lines: enough to answer most questions about thousands of nodes
// without going to each one's own tables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "topology/holes.h"

namespace pinion::cluster {

struct NodeDigest {
  // By Align and Smt (topology::slot_of).
  using Largest = std::array<std::array<std::uint16_t, 3>, 4>;

  Largest largest{};  // hole
  // By Align, of the domains: the least unpromised memory, rounded down to MiB, and the most,
  // rounded up; what is too much for the number stands for as much as there can be.
  std::array<std::uint32_t, 4> least_mib{};
  std::array<std::uint32_t, 4> most_mib{};
  // By Align: bit i is set when a domain has i + 1 whole free cores (the last bit: or more).
  std::array<std::uint64_t, 4> hole_cores{};
  // When nothing runs there: the largest hole, and the least memory of a domain, rounded down to
  // GiB.
  Largest idle{};
  std::array<std::uint16_t, 4> idle_gib{};
  std::uint16_t free = 0;
  std::uint16_t step = 0;
  std::uint8_t threads = 1;
  bool usable = false;  // there is such a node, and its agent speaks
  bool simple = false;  // neither isolated nor odd
  bool guarded = false;

  [[nodiscard]] int most(topology::Align align, topology::Smt smt) const {
    return largest[static_cast<std::size_t>(align)][topology::slot_of(smt)];
  }
};
static_assert(sizeof(NodeDigest) <= 128);

// `idle` are the holes of the machine when nothing runs there.
[[nodiscard]] NodeDigest digest_of(const topology::Holes& holes, const topology::Holes& idle);

// As topology::would_grant of the holes that it was made from, in doubt more often; always false
// for a node that is not usable.
[[nodiscard]] std::optional<bool> would_grant(const NodeDigest& digest,
                                              const topology::Request& request);

// The same of the holes when nothing runs there, also for a node that is not usable.
[[nodiscard]] std::optional<bool> would_grant_idle(const NodeDigest& digest,
                                                   const topology::Request& request);

// 0 .. 10: how well the best hole of the asked alignment is used, in cores and memory aside: 10 is
// filled exactly, 0 leaves a whole domain but for less than a tenth, or there is none.
[[nodiscard]] int hole_score(const NodeDigest& digest, const topology::Request& request);

}  // namespace pinion::cluster
