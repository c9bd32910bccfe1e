// A job as a simulation knows it: what its user asks for, and how long it really runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/core/elastic.h"
#include "cluster/core/job_shape.h"

namespace pinion::sim {

// Times are milliseconds of the virtual clock, which begins where the trace does.
using Ms = std::int64_t;

// What a user asks for once the job has been there for so long.
struct Wish {
  Ms after = 0;     // its submission, >= 0
  int workers = 0;  // 0: no longer anything, else from min to max
};

// A job that can run with other numbers of workers than shape.tasks; each is a task.
struct Elastic {
  int min = 1;  // 1 <= min <= shape.tasks <= max
  int max = 1;
  cluster::Change change = cluster::Change::kMalleable;
  int launcher = 0;               // processors that it has besides those of its workers
  cluster::SpeedUp speed_up;      // its rate is 1 with shape.tasks
  Ms gap = -1;                    // least time between its start and rescales; -1: everybody's
  double restart = 0;             // ms that a start or a rescale takes ...
  double restart_per_worker = 0;  // ... and for each worker that it has then
  double rebalance = 0;           // ms, of a rescale besides
  std::vector<Wish> wishes{};     // in their order, no two at one moment

  [[nodiscard]] Ms start_takes(int workers) const {
    return static_cast<Ms>(restart + restart_per_worker * workers);
  }
  [[nodiscard]] Ms rescale_takes(int workers) const {
    return static_cast<Ms>(restart + restart_per_worker * workers + rebalance);
  }
};

struct Job {
  std::int64_t number = 0;  // as the trace has it; need not be unique
  std::string name;         // empty: its number
  Ms submit = 0;
  Ms run = 0;      // on CPUs that nothing disturbs
  Ms request = 0;  // the limit that its user states
  cluster::JobShape shape{.workers = 0, .smt = topology::Smt::kPack};  // 0: as few as fit
  int nodes = 0;              // that it may lie on, and a policy may cut it for; 0: all
  std::string user;           // whose share it is with fair queueing
  std::int32_t priority = 0;  // higher goes first
  bool service = false;       // is no HPC job, and never cut by a policy
  bool apart = false;         // each of its workers on a node of its own
  std::string kind;           // the program, by its name in the file of the run-time model
  std::shared_ptr<const Elastic> elastic;  // nullptr: always with shape.tasks

  [[nodiscard]] std::int64_t processors() const {
    return std::int64_t{shape.tasks} * shape.cpus_per_task;
  }
  [[nodiscard]] std::string called() const { return name.empty() ? std::to_string(number) : name; }
};

}  // namespace pinion::sim
