// What an operator sets of how a node places: read by the agent from its file, and by the extender
// from the same one.
#pragma once

#include <vector>

#include "base/settings/settings.h"
#include "policy/policy.h"

namespace pinion::policy {

// Keys and values as in docs/configuration.md, the kubelet's own names where it has such an option.
// What they set must outlive them. `strict_reservation`: strict-cpu-reservation.
[[nodiscard]] std::vector<settings::Setting> settings_of(Defaults& defaults,
                                                         bool& strict_reservation);

}  // namespace pinion::policy
