// Annotations take any bytes: lines "key=value" below our prefix, on a Guaranteed pod.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/annotations.h"
#include "policy/policy.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::agent_entitlement {
PINION_FUZZ_TARGET(agent_entitlement) {
  using pinion::policy::Entitlement;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  pinion::policy::Pod pod;
  pod.cgroup_parent = "/kubepods/pod1";
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string line(text.substr(0, end));
    const auto sign = line.find('=');
    pod.annotations[std::string(pinion::annotation::kPrefix) + line.substr(0, sign)] =
        sign == std::string::npos ? "" : line.substr(sign + 1);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  pinion::policy::Resources resources;
  resources.quota = 200'000;
  const Entitlement entitlement = pinion::policy::entitlement_of(pod, "main", resources, {});
  if (entitlement.kind == Entitlement::Kind::kExclusive && entitlement.request.cpus != 2)
    std::abort();
  if (entitlement.kind == Entitlement::Kind::kRefused &&
      (entitlement.text.empty() || entitlement.text.size() > 300)) {
    std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::agent_entitlement
