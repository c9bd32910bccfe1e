// How much each domain of a machine could still give away: what a reader of many machines keeps of
// each, so that it need not ask allocate() about all of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/allocate.h"

namespace pinion::topology {

// Where any CPUs will do, equally many are to be had.
[[nodiscard]] constexpr std::size_t slot_of(Smt smt) {
  return static_cast<std::size_t>(takes_any_cpus(smt) ? Smt::kPack : smt);
}

struct Hole {
  // By Smt, as slot_of: the most CPUs that one request could get here.
  std::array<std::uint16_t, 3> units{};
  Index node = kNoIndex;  // of an L3 domain: the NUMA node it lies in
  Bytes memory = 0;  // unpromised, for containers bound here; the greatest number where the machine
                     // states no memory at all

  [[nodiscard]] int of(Smt smt) const { return units[slot_of(smt)]; }
  bool operator==(const Hole&) const = default;
};

// Isolated CPUs are left out.
struct Holes {
  std::array<std::vector<Hole>, 4> domains;  // by Align, then index
  int step = 0;           // CPUs of each core with all CPUs free; 0: they differ, or there is none
  int free = 0;           // CPUs that could be given
  int threads = 1;        // of the largest core
  bool guarded = false;   // nothing is reserved: the last CPU stays everybody else's
  bool isolated = false;  // the machine has isolated CPUs
  bool odd = false;  // CPUs outside the NUMA nodes, or in one without memory: theirs comes from
                     // elsewhere

  [[nodiscard]] const std::vector<Hole>& of(Align align) const {
    return domains[static_cast<std::size_t>(align)];
  }
  // The most CPUs that one domain of this kind could give, memory aside.
  [[nodiscard]] int largest(Align align, Smt smt) const;

  bool operator==(const Holes&) const = default;
};

[[nodiscard]] Holes holes_of(const Topology& topology, const Ledger& ledger);

// Whether allocate() on that machine grants the request. nullopt: only allocate() can tell (a
// device or isolated CPUs asked for, cores of different sizes, the machine's last CPUs).
[[nodiscard]] std::optional<bool> would_grant(const Holes& holes, const Request& request);

// How many domains of the asked alignment have its CPUs and its memory now.
[[nodiscard]] int rooms(const Holes& holes, const Request& request);

// Reserves up to `wanted` containers like this one in the holes of the asked alignment, tightest
// hole first, and returns how many. Exact for required alignments to an L3 domain or a NUMA node
// where would_grant() is in no doubt about the last of them, else an upper bound. Domains of other
// kinds stay as they were, so that all calls on one value must ask for the same alignment.
[[nodiscard]] int reserve_in(Holes& holes, const Request& request, int wanted);

}  // namespace pinion::topology
