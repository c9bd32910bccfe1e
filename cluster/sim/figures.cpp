#include "cluster/sim/figures.h"

#include <algorithm>

namespace pinion::sim {
namespace {

constexpr double kTau = 10'000;  // ms: shorter jobs count as if they took this

double seconds(double ms) {
  return ms / 1000;
}

}  // namespace

void Accounts::Sums::add(Ms value, std::int32_t weight) {
  histogram.add(value);
  sum += static_cast<double>(value);
  weighted += static_cast<double>(value) * weight;
}

Spread Accounts::Sums::spread(std::int64_t count, double weights) const {
  if (count == 0) return {};
  const double mean = seconds(sum / static_cast<double>(count));
  return {.mean = mean,
          .p95 = seconds(histogram.percentile(0.95)),
          .p99 = seconds(histogram.percentile(0.99)),
          .weighted_mean = weights > 0 ? seconds(weighted / weights) : mean};
}

void Accounts::submitted(Ms now) {
  if (first_ < 0) first_ = now;
}

void Accounts::ended(const JobRecord& record) {
  ++jobs_;
  last_ = std::max(last_, record.end);
  const Ms wait = record.start - record.job.submit;
  const Ms run = record.end - record.start;
  const std::int32_t weight = std::max(record.job.priority, 0);
  weights_ += weight;
  wait_.add(wait, weight);
  response_.add(wait + run, weight);
  run_ += static_cast<double>(run);
  slowdown_ +=
      std::max(1.0, static_cast<double>(wait + run) / std::max(kTau, static_cast<double>(run)));
  busy_ += record.work;
  rescales_ += record.rescales();
  rescaling_ += record.rescaling;
}

void Accounts::sample(Ms now, std::int64_t free, double fragmentation) {
  const auto time = static_cast<double>(now - sampled_);
  if (fragmentation_ >= 0) {
    free_time_ += time * free_;
    broken_time_ += time * free_ * fragmentation_;
  }
  sampled_ = now;
  free_ = static_cast<double>(free);
  fragmentation_ = fragmentation;
}

Figures Accounts::figures(std::int64_t processors, std::int64_t skipped) const {
  Figures figures;
  figures.jobs = jobs_;
  figures.refused = refused_;
  figures.skipped = skipped;
  if (jobs_ == 0) return figures;
  const auto makespan = static_cast<double>(last_ - first_);
  figures.makespan = seconds(makespan);
  figures.wait = wait_.spread(jobs_, weights_);
  figures.response = response_.spread(jobs_, weights_);
  figures.total_wait = seconds(wait_.sum);
  figures.total_run = seconds(run_);
  figures.slowdown = slowdown_ / static_cast<double>(jobs_);
  if (makespan > 0) figures.utilisation = busy_ / makespan / static_cast<double>(processors);
  figures.rescales = rescales_;
  figures.rescaling = seconds(static_cast<double>(rescaling_));
  if (fragmentation_ >= 0) figures.fragmentation = free_time_ > 0 ? broken_time_ / free_time_ : 0;
  return figures;
}

}  // namespace pinion::sim
