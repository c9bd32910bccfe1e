// Cores that a pod keeps for a container that does not run there, as an agent after this one is
// told of them: the runtime lists live containers alone, and no file of a container tells which of
// its cores are lent.
#pragma once

#include <string>

#include "topology/topology.h"

namespace pinion::engine {

struct KeptCores {
  std::string pod_id;     // of the sandbox
  std::string container;  // its name; empty: of those that are still to come
  topology::CpuSet cpus;  // that it ran on, or is to run on
  int count = 0;          // that it asks for: fewer than `cpus` where siblings are held as well
  topology::Bytes memory = 0;
  int part = 0;  // as in Kept

  bool operator==(const KeptCores&) const = default;
};

}  // namespace pinion::engine
