#include "agent/systemd/cpu_bytes.h"

#include <string>

namespace pinion::systemd {
namespace {

using topology::CpuSet;

constexpr std::size_t kByteBits = 8;

}  // namespace

Result<CpuSet> parse_cpu_bytes(std::span<const std::uint8_t> bytes) {
  CpuSet cpus;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (std::size_t bit = 0; bit < kByteBits; ++bit) {
      if ((bytes[at] >> bit & 1U) == 0) continue;
      const std::size_t cpu = at * kByteBits + bit;
      if (cpu >= CpuSet::kCapacity) {
        return failure(Errc::kInvalid, "CPU " + std::to_string(cpu) + " is past the last one, " +
                                           std::to_string(CpuSet::kCapacity - 1));
      }
      cpus.add(static_cast<int>(cpu));
    }
  }
  return cpus;
}

std::vector<std::uint8_t> to_cpu_bytes(const CpuSet& cpus) {
  std::vector<std::uint8_t> bytes;
  for (const int cpu : cpus) {
    const std::size_t at = static_cast<std::size_t>(cpu) / kByteBits;
    if (at >= bytes.size()) bytes.resize(at + 1);
    const unsigned bit = 1U << static_cast<unsigned>(cpu) % kByteBits;
    bytes[at] = static_cast<std::uint8_t>(bytes[at] | bit);
  }
  return bytes;
}

}  // namespace pinion::systemd
