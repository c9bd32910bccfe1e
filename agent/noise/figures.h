// What the agent tells of kernel noise.
#pragma once

#include <cstdint>

namespace pinion::noise {

struct Figures {
  std::uint64_t irqs_moved = 0;   // interrupts off CPUs that they could fire on before; now
  std::uint64_t irqs_kept = 0;    // that the kernel keeps on exclusive CPUs; now
  std::uint64_t corrections = 0;  // settings written again because somebody else had undone them
  std::uint64_t errors = 0;       // files or threads that could not be read or written

  bool operator==(const Figures&) const = default;
};

}  // namespace pinion::noise
