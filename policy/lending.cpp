#include "policy/lending.h"

#include <algorithm>

namespace pinion::policy {

bool LendTo::means_pod(std::string_view name) const {
  return any_rest ? name.starts_with(pod) : name == pod;
}

std::string LendTo::to_string() const {
  return pod + (any_rest ? "*/" : "/") + container;
}

std::optional<LendTo> parse_lend_to(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  LendTo to;
  std::string_view pod = text.substr(0, slash);
  to.any_rest = pod.ends_with('*');
  if (to.any_rest) pod.remove_suffix(1);
  to.pod = pod;
  to.container = text.substr(slash + 1);
  if (std::max(pod.size(), text.size() - slash - 1) > kLongestName) return std::nullopt;
  // Kubernetes' names have none of these.
  constexpr std::string_view never = "*/ ,";
  const bool names = to.pod.find_first_of(never) == std::string::npos &&
                     to.container.find_first_of(never) == std::string::npos;
  if (!names || to.pod.empty() || to.container.empty()) return std::nullopt;
  return to;
}

}  // namespace pinion::policy
