#include "metrics/collect/intrusion.h"

#include <algorithm>

namespace pinion::metrics {

void Intrusion::begin(Core& core, const CoreTimes& times) {
  core.before += core.highest;
  core.highest = 0;
  core.previous = 0;
  core.first = times;
  core.last = times;
  core.held = true;
}

void Intrusion::update(const std::map<topology::CpuId, CoreTimes>& cores) {
  started_ = true;
  for (auto& [cpu, core] : cores_) core.held = core.held && cores.contains(cpu);
  for (const auto& [cpu, times] : cores) {
    const auto [at, is_new] = cores_.try_emplace(cpu);
    Core& core = at->second;
    if (is_new) {
      core.first = core.last = times;
      continue;
    }
    if (!core.held || times.own_ns < core.last.own_ns || times.busy_ns < core.first.busy_ns) {
      begin(core, times);
      continue;
    }
    core.last = times;
    const std::uint64_t busy = times.busy_ns - core.first.busy_ns;
    const std::uint64_t own = times.own_ns - core.first.own_ns;
    const std::uint64_t others = busy > own ? busy - own : 0;
    core.highest = std::max(core.highest, std::min(core.previous, others));
    core.previous = others;
  }
}

std::optional<std::uint64_t> Intrusion::total_ns() const {
  if (!started_) return std::nullopt;
  std::uint64_t total = 0;
  for (const auto& [cpu, core] : cores_) total += core.before + core.highest;
  return total;
}

}  // namespace pinion::metrics
