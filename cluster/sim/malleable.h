// Makes jobs elastic: by what is known of their run times, and those of a trace, which does not say
// what they could be.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/sim/job_source.h"

namespace pinion::sim {

inline constexpr double kMostSeconds = 1e9;  // of a run

// How fast the job is with so many workers, the rates in 1 / seconds of its whole run; says how
// long it runs with its tasks. Precondition: there is a rate, and the numbers of workers differ.
void set_rates(Job& job, Elastic& elastic, std::vector<cluster::SizeRate> rates);

struct Malleable {
  double least = 1;                          // of a job's processors, above 0, <= 1
  double most = 1;                           // >= 1
  double serial = cluster::kCautiousSerial;  // share of its work, by Amdahl: 0 .. 1
};

// "0.5:2" or with the serial share "0.5:2:0.05". Errors: kInvalid.
Result<Malleable> parse_malleable(std::string_view text);

// Its `min` and `max`, rounded into what was asked for, but no `max` above `processors` unless the
// job itself is larger. Its rescales take no time.
void make_malleable(Job& job, const Malleable& how, std::int64_t processors);

class MalleableSource : public JobSource {
 public:
  MalleableSource(std::unique_ptr<JobSource> jobs, const Malleable& how, std::int64_t processors)
      : jobs_(std::move(jobs)), how_(how), processors_(processors) {}

  Result<std::optional<Job>> next() override {
    auto job = jobs_->next();
    if (job && *job) make_malleable(**job, how_, processors_);
    return job;
  }
  [[nodiscard]] double progress() const override { return jobs_->progress(); }
  [[nodiscard]] std::int64_t skipped() const override { return jobs_->skipped(); }

 private:
  const std::unique_ptr<JobSource> jobs_;
  const Malleable how_;
  const std::int64_t processors_;
};

}  // namespace pinion::sim
