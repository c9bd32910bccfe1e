// Where an interrupt, or other work of the kernel, is to be while some CPUs are held exclusively.
#pragma once

#include <optional>

#include "topology/cpuset.h"

namespace pinion::noise {

using topology::CpuSet;

// One knob as it is found.
struct Affinity {
  CpuSet original;                    // before Pinion touched it
  CpuSet current;                     // what it says now
  std::optional<CpuSet> effective{};  // where it really fires, if the kernel says so
  std::optional<CpuSet> last{};       // what this agent has written, or found right, last
};

enum class Step {
  kLeave,    // it is right, or somebody else's choice that disturbs nobody
  kWrite,    // to `cpus`
  kCorrect,  // the same: somebody else has undone what was written
  kNowhere,  // every online CPU is exclusive: it stays where it is
};
struct Plan {
  Step step = Step::kLeave;
  CpuSet cpus;
};

// The original CPUs without the exclusive ones. Where no online CPU is left of these, all online
// CPUs that are not exclusive: the kernel takes no set without an online CPU. With no exclusive
// CPUs that is the original. What others choose meanwhile (irqbalance, an operator) stands for as
// long as it keeps off the exclusive CPUs and they stay the same.
[[nodiscard]] Plan plan(const Affinity& affinity, const CpuSet& exclusive, const CpuSet& online);

// Whether it can fire on one of the exclusive CPUs.
[[nodiscard]] bool disturbs(const Affinity& affinity, const CpuSet& exclusive);

}  // namespace pinion::noise
