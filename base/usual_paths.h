// Where a node has things unless a setting says otherwise.
#pragma once

namespace pinion {

inline constexpr const char* kUsualNriSocket = "/var/run/nri/nri.sock";  // of every runtime
inline constexpr const char* kUsualStateDir = "/run/pinion";             // of the agent

}  // namespace pinion
