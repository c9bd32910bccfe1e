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
constexpr std::uint32_t kPlenty = std::numeric_limits<std::uint32_t>::max();

std::uint32_t saturated(Bytes mib) {
  return static_cast<std::uint32_t>(std::min<Bytes>(mib, kPlenty));
}

std::size_t at(Align align) {
  return static_cast<std::size_t>(align);
}

void digest_domains(const Holes& holes, Align align, NodeDigest& digest) {
  Bytes least = std::numeric_limits<Bytes>::max();
  Bytes most = 0;
  for (const Hole& hole : holes.of(align)) {
    for (std::size_t smt = 0; smt < hole.units.size(); ++smt) {
      std::uint16_t& largest = digest.largest[at(align)][smt];
      largest = std::max(largest, hole.units[smt]);
    }
    if (hole.of(Smt::kPack) == 0) continue;
    least = std::min(least, hole.memory / kDigestUnit);
    most = std::max(most, hole.memory / kDigestUnit + 1);
    const int cores = std::min(hole.of(Smt::kOnePerCore), 64);
    if (cores > 0) digest.hole_cores[at(align)] |= std::uint64_t{1} << (cores - 1);
  }
  digest.least_mib[at(align)] = saturated(least);
  digest.most_mib[at(align)] = saturated(most);
}

// Whether one alignment has a hole; nullopt: with the CPUs for sure, with the memory perhaps.
std::optional<bool> has_hole(const NodeDigest& digest, const Request& request, Align align) {
  if (digest.largest[at(align)][topology::slot_of(request.smt)] < request.cpus) return false;
  const bool bound = request.memory_policy == topology::MemoryPolicy::kBind && request.memory > 0;
  if (!bound) return true;
  if (request.memory / kDigestUnit < digest.least_mib[at(align)]) return true;
  const std::uint32_t most = digest.most_mib[at(align)];
  if (most != kPlenty && request.memory / kDigestUnit > most) return false;
  return std::nullopt;
}

// The same of all alignments that it may climb to.
std::optional<bool> has_any_hole(const NodeDigest& digest, const Request& request) {
  std::optional<bool> granted = has_hole(digest, request, request.align);
  if (request.strength == topology::Strength::kRequired) return granted;
  for (const Align align : topology::kAligns) {
    if (align <= request.align || granted == true) continue;
    const auto wider = has_hole(digest, request, align);
    if (wider != false) granted = wider;
  }
  return granted;
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
    digest.domain_cores[at(align)] =
        static_cast<std::uint16_t>(idle.largest(align, Smt::kOnePerCore));
  }
  digest.free = static_cast<std::uint16_t>(holes.free);
  digest.step = static_cast<std::uint16_t>(holes.step);
  digest.threads = static_cast<std::uint8_t>(holes.threads);
  digest.simple = !holes.isolated && !holes.odd;
  digest.guarded = holes.guarded;
  return digest;
}

std::optional<bool> would_grant(const NodeDigest& digest, const Request& request) {
  if (!digest.usable || request.cpus < 1 || request.cpus > topology::CpuSet::kCapacity)
    return false;
  if (!digest.simple || !request.near_device.empty()) return std::nullopt;
  const bool whole = request.smt == Smt::kFullCore;
  if (whole && digest.step > 0 && request.cpus % digest.step != 0) return false;
  const std::optional<bool> granted = has_any_hole(digest, request);
  if (granted == false) return false;
  if (whole && digest.step == 0) return std::nullopt;
  if (digest.guarded && digest.free <= request.cpus * digest.threads) return std::nullopt;
  return granted;
}

int hole_score(const NodeDigest& digest, const Request& request) {
  const int cores = cores_of(digest, request);
  const int size = digest.domain_cores[at(request.align)];
  if (cores < 1 || size < 1) return 0;
  const std::uint64_t holes = digest.hole_cores[at(request.align)] >> std::min(cores - 1, 63);
  if (holes == 0) return 0;
  return std::max(0, 10 - 10 * std::countr_zero(holes) / size);
}

}  // namespace pinion::cluster
