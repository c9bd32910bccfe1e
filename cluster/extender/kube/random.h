// Numbers that nobody can foretell, for pauses that many clients must not have in common.
#pragma once

#include <functional>

namespace pinion::kube {

// From 0 to below 1.
using Random = std::function<double()>;

// Seeded by the system; for one thread.
Random system_random();

}  // namespace pinion::kube
