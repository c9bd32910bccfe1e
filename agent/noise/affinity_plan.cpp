#include "agent/noise/affinity_plan.h"

namespace pinion::noise {
namespace {

// Empty: there is no such place.
CpuSet place_of(const CpuSet& original, const CpuSet& exclusive, const CpuSet& online) {
  const CpuSet rest = original - exclusive;
  return rest.intersects(online) ? rest : online - exclusive;
}

}  // namespace

Plan plan(const Affinity& affinity, const CpuSet& exclusive, const CpuSet& online) {
  const CpuSet wanted = place_of(affinity.original, exclusive, online);
  if (wanted.empty()) return {.step = Step::kNowhere, .cpus = {}};
  if (affinity.current == wanted) return {.step = Step::kLeave, .cpus = wanted};
  if (affinity.last != wanted) return {.step = Step::kWrite, .cpus = wanted};
  const Step step = affinity.current.intersects(exclusive) ? Step::kCorrect : Step::kLeave;
  return {.step = step, .cpus = wanted};
}

bool disturbs(const Affinity& affinity, const CpuSet& exclusive) {
  return affinity.effective.value_or(affinity.current).intersects(exclusive);
}

}  // namespace pinion::noise
