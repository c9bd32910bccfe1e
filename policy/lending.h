// Which container's cores are lent to which, as annotations say it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pinion::policy {

// Bytes: the longest name of a pod, and of most of Kubernetes' objects.
inline constexpr std::size_t kLongestName = 253;

// To whom a container lends its exclusive cores: a container of a pod of its own namespace.
struct LendTo {
  std::string pod;        // its name, with `any_rest` the beginning of it
  bool any_rest = false;  // said as "NAME*", for a name that is not known when the pod is made
  std::string container;

  [[nodiscard]] bool means_pod(std::string_view name) const;

  // As it was said.
  [[nodiscard]] std::string to_string() const;

  bool operator==(const LendTo&) const = default;
};

// "POD/CONTAINER", POD may end in "*". nullopt: it is not that, or one is longer than kLongestName.
[[nodiscard]] std::optional<LendTo> parse_lend_to(std::string_view text);

}  // namespace pinion::policy
