#include "cluster/core/speed_up.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pinion::cluster {
namespace {

double amdahl(double serial, int workers) {
  return 1 / (serial + (1 - serial) / workers);
}

// The first entry of at least that size.
template <class Entries>
auto from_size(const Entries& entries, int workers) {
  return std::lower_bound(entries.begin(), entries.end(), workers,
                          [](const auto& entry, int size) { return entry.workers < size; });
}

// Of the way from size `a` to size `b`, the share at which `workers` lies.
double share_of_way(int a, int workers, int b) {
  return static_cast<double>(workers - a) / (b - a);
}

}  // namespace

SpeedUp::SpeedUp(double serial, int reference) : serial_(serial), reference_(reference) {}

SpeedUp::SpeedUp(std::vector<SizeRate> declared) : declared_(std::move(declared)) {
  std::sort(declared_.begin(), declared_.end(),
            [](const SizeRate& a, const SizeRate& b) { return a.workers < b.workers; });
}

void SpeedUp::see(std::span<const SizeRate> seen) {
  std::vector<Factor> factors;
  for (const SizeRate& one : seen) {
    const Factor factor{one.workers, one.rate / known_before(one.workers)};
    const auto at = from_size(factors, one.workers);
    if (at != factors.end() && at->workers == one.workers) {
      factors[static_cast<std::size_t>(at - factors.begin())] = factor;
    } else {
      factors.insert(at, factor);
    }
  }
  seen_ = std::move(factors);
}

double SpeedUp::known_before(int workers) const {
  if (declared_.empty()) return amdahl(serial_, workers) / amdahl(serial_, reference_);
  const SizeRate& smallest = declared_.front();
  if (workers <= smallest.workers) return smallest.rate * workers / smallest.workers;
  const auto above = from_size(declared_, workers);
  if (above == declared_.end()) return declared_.back().rate;
  const auto below = std::prev(above);
  const double way = share_of_way(below->workers, workers, above->workers);
  return 1 / ((1 - way) / below->rate + way / above->rate);
}

double SpeedUp::rate(int workers) const {
  const double before = known_before(workers);
  if (seen_.empty()) return before;
  const auto above = from_size(seen_, workers);
  if (above == seen_.begin()) return before * seen_.front().factor;
  if (above == seen_.end()) return before * seen_.back().factor;
  const auto below = std::prev(above);
  const double way = share_of_way(below->workers, workers, above->workers);
  return before * ((1 - way) * below->factor + way * above->factor);
}

}  // namespace pinion::cluster
