// Jobs that are there already.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "cluster/sim/job_source.h"

namespace pinion::sim {

// Precondition: they are in the order of their submission.
class JobList : public JobSource {
 public:
  explicit JobList(std::vector<Job> jobs) : jobs_(std::move(jobs)) {}

  Result<std::optional<Job>> next() override {
    if (given_ == jobs_.size()) return std::nullopt;
    return jobs_[given_++];
  }
  [[nodiscard]] double progress() const override {
    return jobs_.empty() ? 1 : static_cast<double>(given_) / static_cast<double>(jobs_.size());
  }

 private:
  std::vector<Job> jobs_;
  std::size_t given_ = 0;
};

}  // namespace pinion::sim
