// A job as a simulation knows it: what its user asks for, and how long it really runs.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/core/job_shape.h"

namespace pinion::sim {

// Times are milliseconds of the virtual clock, which begins where the trace does.
using Ms = std::int64_t;

struct Job {
  std::int64_t number = 0;  // as the trace has it; need not be unique
  std::string name;         // empty: its number
  Ms submit = 0;
  Ms run = 0;      // on CPUs that nothing disturbs
  Ms request = 0;  // the limit that its user states
  cluster::JobShape shape{.workers = 0, .smt = topology::Smt::kPack};  // 0: as few as fit
  int nodes = 0;              // that policy scale may use; 0: as few as fit
  std::string user;           // whose share it is with fair queueing
  std::int32_t priority = 0;  // higher goes first
  std::string kind;           // the program, by its name in the file of the run-time model

  [[nodiscard]] std::int64_t processors() const {
    return std::int64_t{shape.tasks} * shape.cpus_per_task;
  }
  [[nodiscard]] std::string called() const { return name.empty() ? std::to_string(number) : name; }
};

}  // namespace pinion::sim
