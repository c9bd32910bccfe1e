// Which placeholders a job needs: one for each node, all alike.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "cluster/slurm/job.h"

namespace pinion::slurm {

// Of a job: the largest gang, and the most workers of an elastic job (scheduling/demand.h).
inline constexpr int kMostNodes = 1000;

struct ShapeRules {
  std::int64_t memory_per_cpu_mib = 1024;  // of a job that does not say
  int exclusive_cpus = 0;  // of a placeholder of a job with --exclusive; 0: there may be none
  int most_cpus = 0;       // of one of a job that names no number of nodes; 0: as many as it likes
};

struct Shape {
  int nodes = 1;
  int cpus = 1;                 // on each
  std::int64_t memory_mib = 0;  // on each
  std::string profile;          // "cpu", "memory", "network"; empty: not said
  bool elastic = false;         // the number of nodes may change: the placeholders are no gang

  bool operator==(const Shape&) const = default;
};

// Where the job names no number of nodes, Slurm has only guessed one, from all CPUs that it takes
// its nodes to have.
[[nodiscard]] int nodes_for(const Job& submitted, const ShapeRules& rules);

// Errors: kInvalid, with what the user should change.
Result<Shape> shape_of(const Job& submitted, const ShapeRules& rules);

}  // namespace pinion::slurm
