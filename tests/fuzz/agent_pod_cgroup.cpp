// A pod's cgroup, as a runtime may tell it: what follows from it is the same by both questions.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/policy.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_pod_cgroup {
PINION_FUZZ_TARGET(agent_pod_cgroup) {
  namespace policy = pinion::policy;
  const std::string_view parent(reinterpret_cast<const char*>(data), size);
  const policy::Qos qos = policy::qos_of(parent);
  const auto groups = policy::qos_groups_of(parent);
  if (!groups.empty() && (groups.size() != 2 || groups[0] == groups[1])) std::abort();
  if (qos == policy::Qos::kUnknown && !groups.empty()) std::abort();
  if (policy::qos_group_of(parent).size() > size + 6) std::abort();
  for (const auto& group : groups) {
    if (group.size() > size + 17) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::agent_pod_cgroup
