#include <array>
#include <limits>

#include "cluster/extender/wire/pod.h"

namespace pinion::cluster::wire {
namespace {

constexpr std::size_t kCpu = 0;
constexpr std::size_t kMemory = 1;
using Sums = std::array<std::int64_t, 2>;  // 0: nobody states it

void add(std::int64_t& sum, const std::optional<std::int64_t>& amount) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t more = amount.value_or(0);
  sum = sum > most - more ? most : sum + more;
}

void add(Sums& sums, const Amounts& amounts) {
  add(sums[kCpu], amounts.cpu_milli);
  add(sums[kMemory], amounts.memory_bytes);
}

bool both(const Amounts& amounts) {
  return amounts.cpu_milli.value_or(0) > 0 && amounts.memory_bytes.value_or(0) > 0;
}

}  // namespace

policy::Qos qos_by_resources(const PodSpecView& pod) {
  Sums requests{};
  Sums limits{};
  bool limited = true;  // everybody in CPUs and memory
  const auto count = [&](const Resources& resources) {
    add(requests, resources.requests);
    add(limits, resources.limits);
    limited = limited && both(resources.limits);
  };
  if (pod.pod_level) {
    count(*pod.pod_level);
  } else {
    for (const ContainerView& container : pod.containers) count(container.resources);
  }
  if (requests == Sums{} && limits == Sums{}) return policy::Qos::kBestEffort;
  return limited && requests == limits ? policy::Qos::kGuaranteed : policy::Qos::kBurstable;
}

}  // namespace pinion::cluster::wire
