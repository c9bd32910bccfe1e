// The MPI job many times over beside the same noise: with the agent and without, in turn.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/lab/agent_api.h"
#include "tests/lab/demo_job.h"
#include "tests/lab/mpi_job.h"

namespace pinion::lab {

struct Round {
  MpiRun run;
  std::optional<AgentFigures> agent;  // pinned rounds, where the agent's interface answers
  double held_seconds = 0;            // for how long it held its cores when the agent answered
};

struct Rounds {
  MpiRun alone;  // before any noise, without the agent
  std::vector<Round> pinned;
  std::vector<Round> unpinned;
  std::string why_no_l3_misses;  // the agent's word; "" when it counts them or says nothing
};

// What is told on the way: "round 1", pinned or not, and the run.
using Progress = std::function<void(int round, bool pinned, const MpiRun&)>;

// Runs the job alone, then starts the noise of `noise`, then for each round once pinned and once
// not; the one that goes first changes with each round, so that what drifts (heat, other work on
// the machine) falls on both alike. The agent runs in the pinned ones only, and finds the noise
// already there. Meanwhile the calling thread, and the agent started from it, stay on the reserved
// CPUs, as an agent in a pod would.
// Errors: as of the lab; kInternal when a pinned run was not on CPUs of its own, or an unpinned one
// not on those that the noise has.
Result<Rounds> run_rounds(ContainerdLab& lab, const Job& noise, const MpiJob& job, int rounds,
                          const Progress& progress);

}  // namespace pinion::lab
