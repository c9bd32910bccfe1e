#include "metrics/perf/need.h"

#include "metrics/perf/scaling.h"

namespace pinion::metrics::perf {

std::uint64_t descriptor_need(std::uint64_t containers, std::uint64_t cpus, std::uint64_t events) {
  return containers * (cpus * events + 1);
}

std::optional<std::string> missing_descriptors(std::uint64_t need, std::uint64_t reserve,
                                               std::uint64_t hard) {
  const std::uint64_t all = saturating_add(need, reserve);
  if (all <= hard) return std::nullopt;
  return "counting needs " + std::to_string(need) + " descriptors and the rest of the agent " +
         std::to_string(reserve) + ", the hard limit is " + std::to_string(hard) +
         ": raise RLIMIT_NOFILE to " + std::to_string(all) +
         " (LimitNOFILE= of the unit that starts the container runtime, or of the agent's own)";
}

}  // namespace pinion::metrics::perf
