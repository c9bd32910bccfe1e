#include "metrics/perf/carry.h"

#include <algorithm>

namespace pinion::metrics::perf {
namespace {

std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

Reading most(const Reading& a, const Reading& b) {
  return {std::max(a.value, b.value), std::max(a.enabled, b.enabled),
          std::max(a.running, b.running)};
}

}  // namespace

void Carry::read(const Reading& now) {
  seen_ = most(seen_, now);
  const Reading since{grown(now.value, counted_.value), grown(now.enabled, counted_.enabled),
                      grown(now.running, counted_.running)};
  if (since.value == 0 && since.running == 0) return;  // not on the PMU since
  total_ = saturating_add(total_, scale(since));
  counted_ = most(counted_, now);
}

void Carry::reopened() {
  earlier_enabled_ = enabled();
  earlier_running_ = running();
  counted_ = {};
  seen_ = {};
}

std::uint64_t Carry::enabled() const {
  return saturating_add(earlier_enabled_, seen_.enabled);
}
std::uint64_t Carry::running() const {
  return saturating_add(earlier_running_, seen_.running);
}

}  // namespace pinion::metrics::perf
