#include "cluster/core/node_digest.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Bytes;
using topology::Hole;
using topology::Holes;
using topology::Request;
using topology::Smt;

constexpr Bytes kDigestUnit = Bytes{1} << 20;
constexpr Bytes kIdleUnit = Bytes{1} << 30;
constexpr std::uint32_t kPlenty = std::numeric_limits<std::uint32_t>::max();

std::uint32_t saturated(Bytes mib) {
  return static_cast<std::uint32_t>(std::min<Bytes>(mib, kPlenty));
}

std::size_t at(Align align) {
  return static_cast<std::size_t>(align);
}

std::array<std::uint16_t, 3> largest_of(const Holes& holes, Align align) {
  std::array<std::uint16_t, 3> largest{};
  for (const Hole& hole : holes.of(align)) {
    for (std::size_t smt = 0; smt < largest.size(); ++smt) {
      largest[smt] = std::max(largest[smt], hole.units[smt]);
    }
  }
  return largest;
}

void digest_domains(const Holes& holes, Align align, NodeDigest& digest) {
  digest.largest[at(align)] = largest_of(holes, align);
  Bytes least = std::numeric_limits<Bytes>::max();
  Bytes most = 0;
  for (const Hole& hole : holes.of(align)) {
    if (hole.of(Smt::kPack) == 0) continue;
    least = std::min(least, hole.memory / kDigestUnit);
    most = std::max(most, hole.memory / kDigestUnit + 1);
    const int cores = std::min(hole.of(Smt::kOnePerCore), 64);
    if (cores > 0) digest.hole_cores[at(align)] |= std::uint64_t{1} << (cores - 1);
  }
  digest.least_mib[at(align)] = saturated(least);
  digest.most_mib[at(align)] = saturated(most);
}

void digest_idle(const Holes& idle, Align align, NodeDigest& digest) {
  digest.idle[at(align)] = largest_of(idle, align);
  Bytes least = std::numeric_limits<std::uint16_t>::max();
  for (const Hole& hole : idle.of(align)) {
    if (hole.of(Smt::kPack) > 0) least = std::min(least, hole.memory / kIdleUnit);
  }
  digest.idle_gib[at(align)] = static_cast<std::uint16_t>(least);
}

// Whether there is a hole of an alignment that it may climb to; nullopt: with the CPUs for sure,
// with the memory perhaps. `has_memory` says whether that is in each of these domains.
template <class HasMemory>
std::optional<bool> has_hole(const NodeDigest::Largest& largest, const Request& request,
                             const HasMemory& has_memory) {
  const bool bound = request.memory_policy == topology::MemoryPolicy::kBind && request.memory > 0;
  const bool climbs = request.strength == topology::Strength::kPreferred;
  std::optional<bool> granted = false;
  for (const Align align : topology::kAligns) {
    if (align < request.align || (align > request.align && !climbs)) continue;
    if (largest[at(align)][topology::slot_of(request.smt)] < request.cpus) continue;
    const std::optional<bool> there = bound ? has_memory(align) : true;
    if (there == true) return true;
    if (there != false) granted = there;
  }
  return granted;
}

std::optional<bool> has_hole_now(const NodeDigest& digest, const Request& request) {
  return has_hole(digest.largest, request, [&](Align align) -> std::optional<bool> {
    if (request.memory / kDigestUnit < digest.least_mib[at(align)]) return true;
    const std::uint32_t most = digest.most_mib[at(align)];
    const bool none = most != kPlenty && request.memory / kDigestUnit > most;
    return none ? std::optional(false) : std::nullopt;
  });
}

bool in_range(const Request& request) {
  return request.cpus >= 1 && request.cpus <= topology::CpuSet::kCapacity;
}

// The cores that it would use up.
int cores_of(const NodeDigest& digest, const Request& request) {
  if (request.smt == Smt::kOnePerCore) return request.cpus;
  return (request.cpus + digest.threads - 1) / digest.threads;
}

}  // namespace

NodeDigest digest_of(const Holes& holes, const Holes& idle) {
  NodeDigest digest;
  for (const Align align : topology::kAligns) {
    digest_domains(holes, align, digest);
    digest_idle(idle, align, digest);
  }
  digest.free = static_cast<std::uint16_t>(holes.free);
  digest.step = static_cast<std::uint16_t>(holes.step);
  digest.threads = static_cast<std::uint8_t>(holes.threads);
  digest.simple = !holes.isolated && !holes.odd;
  digest.guarded = holes.guarded;
  return digest;
}

std::optional<bool> would_grant(const NodeDigest& digest, const Request& request) {
  if (!digest.usable || !in_range(request)) return false;
  if (!digest.simple || !request.near_device.empty()) return std::nullopt;
  const bool whole = request.smt == Smt::kFullCore;
  if (whole && digest.step > 0 && request.cpus % digest.step != 0) return false;
  const std::optional<bool> granted = has_hole_now(digest, request);
  if (granted == false) return false;
  if (whole && digest.step == 0) return std::nullopt;
  if (digest.guarded && digest.free <= request.cpus * digest.threads) return std::nullopt;
  return granted;
}

std::optional<bool> would_grant_idle(const NodeDigest& digest, const Request& request) {
  if (!in_range(request)) return false;
  const bool simple = digest.simple && !digest.guarded && request.near_device.empty();
  if (!simple || request.smt == Smt::kFullCore) return std::nullopt;
  return has_hole(digest.idle, request, [&](Align align) {
    const bool enough = request.memory / kIdleUnit < digest.idle_gib[at(align)];
    return enough ? std::optional(true) : std::nullopt;
  });
}

int hole_score(const NodeDigest& digest, const Request& request) {
  const int cores = cores_of(digest, request);
  const int size = digest.idle[at(request.align)][topology::slot_of(Smt::kOnePerCore)];
  if (cores < 1 || size < 1) return 0;
  const std::uint64_t holes = digest.hole_cores[at(request.align)] >> std::min(cores - 1, 63);
  if (holes == 0) return 0;
  return std::max(0, 10 - 10 * std::countr_zero(holes) / size);
}

}  // namespace pinion::cluster
