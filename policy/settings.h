// What an operator sets of how a node places: read by the agent from its file, by the extender from
// the same one, and by `pinionctl plan` from its options.
#pragma once

#include <set>
#include <vector>

#include "base/settings/settings.h"
#include "policy/policy.h"

namespace pinion::policy {

// Keys and values as in docs/configuration.md, the kubelet's own names where it has such an option.
// What they set must outlive them. `strict_reservation`: strict-cpu-reservation.
[[nodiscard]] std::vector<settings::Setting> settings_of(Defaults& defaults,
                                                         bool& strict_reservation);

// Of those: what annotations may ask, and the flag of strict-cpu-reservation.
[[nodiscard]] settings::Setting allowed_privileges(std::set<Privilege>& privileges);
[[nodiscard]] settings::Setting strict_cpu_reservation(bool& strict_reservation);

}  // namespace pinion::policy
