// What the kernel's settings were before Pinion touched them, as the text of a file:
//
//   pinion-kernel-noise 1
//   boot 0f3c8a52-...
//   irq 24 0-7
//   workqueue unbound 0-7
//   end
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "agent/noise/knob.h"
#include "topology/cpuset.h"

namespace pinion::noise {

inline constexpr std::size_t kMostKnobs = 16'384;
inline constexpr std::size_t kLongestFile = 8;  // MiB

struct Originals {
  std::string boot;  // /proc/sys/kernel/random/boot_id: numbers mean nothing after another boot
  std::map<Knob, topology::CpuSet> cpus;

  bool operator==(const Originals&) const = default;
};

// Precondition: `boot` is one that decode() takes.
[[nodiscard]] std::string encode(const Originals& originals);

// Errors: kInvalid with the line, for text that encode() cannot have written (another version, cut
// off, an empty set, a knob twice) and for more than kMostKnobs.
Result<Originals> decode(std::string_view text);

}  // namespace pinion::noise
