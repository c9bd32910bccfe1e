#include "nri-plugin/counters.h"

#include <algorithm>

namespace pinion::nri {
namespace {

constexpr std::array<std::string_view, kMethods> kNames = {
    "Configure",          "Synchronize",         "Shutdown",
    "CreateContainer",    "UpdateContainer",     "StopContainer",
    "StateChange",        "RunPodSandbox",       "StopPodSandbox",
    "RemovePodSandbox",   "PostCreateContainer", "StartContainer",
    "PostStartContainer", "PostUpdateContainer", "RemoveContainer"};

}  // namespace

std::string_view to_string(Method method) {
  return kNames[static_cast<std::size_t>(method)];
}

std::optional<Method> to_method(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Method>(found - kNames.begin());
}

}  // namespace pinion::nri
