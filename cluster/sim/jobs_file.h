// A list of jobs that a human wrote, in YAML or JSON:
//
//   - name: wind            # letters, digits, '.', '_' and '-'; without it the job's number
//     count: 3              # so many alike; with a name wind-0 .. wind-2
//     submit: 0             # seconds, from the beginning of the virtual clock
//     every: 60             # seconds between those of `count`, 0 without it
//     run: 600              # seconds that it takes where nothing disturbs it
//     request: 3600         # the limit that its user states; as `run` without it
//     tasks: 16             # MPI processes
//     cpus-per-task: 1
//     memory-per-task: 2Gi
//     workers: 4            # the user's own cut; as few as fit in a NUMA node without it
//     groups: 2             # of them
//     nodes: 4              # that a policy may cut it for; all without it
//     profile: cpu          # cpu, memory or network
//     kind: dgemm           # the program, as the file of the run-time model calls it
//     user: ada             # whose share it counts for
//     priority: 3           # higher goes first
//
//     min: 4                # with --elastic: it can have 4 to 32 workers of one task each
//     max: 32
//     change: malleable     # rigid (always `tasks`), moldable (chosen at its start), malleable
//     times: {4: 900, 16: 300}  # seconds with so many workers, in place of `run`
//     serial: 0.05          # in place of `times`: share of its work that is serial, by Amdahl
//     launcher: 1           # processors that it has besides
//     gap: 180              # least seconds between its start, shrinks and expands
//     restart: 0.2          # seconds that its start and each rescale takes
//     restart-per-worker: 0.14  # ... and so many for each worker
//     rebalance: 0.7        # ... and a rescale besides
//
// Only `run` must be there, or `times`, or a `kind` whose time the file of the run-time model says.
// `tasks` is `max` where only that is said, `max` is `tasks`, and `min` 1. `run` and `request` are
// with `tasks`.
#pragma once

#include <string>
#include <vector>

#include "cluster/sim/job_list.h"

namespace pinion::sim {

inline constexpr int kMaxFileJobs = 100'000;  // all counts together

// By submission, ties as they stand in the file. Errors: kInvalid with "line N: ..." for bad YAML,
// an unknown key, or a value that is none.
Result<std::vector<Job>> parse_jobs_file(const std::string& text);

}  // namespace pinion::sim
