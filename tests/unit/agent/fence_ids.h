// Whom a fence moves, for its tests.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/engine.h"

namespace pinion::engine {

// In the order of the list.
inline std::vector<std::string> ids(const std::vector<Enforce>& list) {
  std::vector<std::string> result;
  for (const Enforce& entry : list) result.push_back(entry.id);
  return result;
}

inline std::vector<std::string> ids(const std::vector<CpusetUpdate>& list) {
  std::vector<std::string> result;
  for (const CpusetUpdate& entry : list) result.push_back(entry.id);
  return result;
}

}  // namespace pinion::engine
