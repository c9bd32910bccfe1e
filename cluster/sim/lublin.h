// Jobs drawn from the model of Lublin and Feitelson ("The workload on parallel supercomputers:
// modeling the characteristics of rigid jobs", JPDC 63, 2003), with its parameters for jobs of no
// type. Sizes, run times (which depend on sizes) and gaps between arrivals, which follow the hour
// of the day. The model knows no limits that users state, no users and no priorities.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "cluster/sim/job_source.h"

namespace pinion::sim {

struct LublinSettings {
  std::int64_t jobs = 1000;
  int largest = 128;  // job, in processors: the model's uHi is its logarithm; >= 2
  // Gaps are stretched alike so that the run times times sizes of these jobs are this share of what
  // the processors can do from the first submission to the last, which are whole seconds; 0: the
  // model's own gaps. Of one job, or if all are submitted in one second: the same.
  double load = 0;
  std::int64_t processors = 128;  // for `load`
  double overestimate = 1;  // a user asks for the run time times 1 to so much, each as likely; >= 1
  std::uint64_t seed = 1;
};

class Lublin : public JobSource {
 public:
  explicit Lublin(const LublinSettings& settings);

  Result<std::optional<Job>> next() override;
  [[nodiscard]] double progress() const override;

 private:
  static constexpr std::size_t kBuckets = 48;  // half hours of a day

  double uniform();
  int draw_size();
  double draw_run(int size);
  double draw_gap();  // seconds
  Job draw();
  [[nodiscard]] double gap_factor() const;

  const LublinSettings settings_;
  std::mt19937_64 random_;
  std::array<double, kBuckets> weights_{};  // arrivals of each half hour; 1 on average
  std::size_t bucket_ = 0;
  double points_ = 0;
  double into_bucket_ = 0;  // share of it that has gone by
  double stretch_ = 1;
  double now_ = 0;  // seconds
  std::int64_t given_ = 0;
};

}  // namespace pinion::sim
