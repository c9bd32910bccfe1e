// Where jobs come from, one at a time, so that memory does not grow with their number.
#pragma once

#include <optional>

#include "base/error.h"
#include "cluster/sim/job.h"

namespace pinion::sim {

class JobSource {
 public:
  JobSource() = default;
  JobSource(const JobSource&) = delete;
  JobSource& operator=(const JobSource&) = delete;
  virtual ~JobSource() = default;

  // The next job, never submitted before the one before it; nullopt: there are no more. Errors: of
  // a file, naming the line.
  virtual Result<std::optional<Job>> next() = 0;
  // How much of it has been given, 0 .. 1; below 0: not known.
  [[nodiscard]] virtual double progress() const = 0;
  // Entries that were left out because they never ran.
  [[nodiscard]] virtual std::int64_t skipped() const { return 0; }
};

}  // namespace pinion::sim
