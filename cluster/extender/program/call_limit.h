// How long a call may take that only the leader makes.
#pragma once

#include <chrono>

namespace pinion::cluster {

// Below the time that a lost lead leaves until another one may begin (kube/election.h: 3 s).
// Whether we lead is asked before each such call.
inline constexpr std::chrono::milliseconds kLeadersCallLimit{2500};

}  // namespace pinion::cluster
