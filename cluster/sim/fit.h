// The run-time model's parameters from runs that were seen: a search for those that make the run
// times of all runs come out best, and what the same search would have said of a run that it had
// not seen (leave-one-out cross-validation).
//
// What is fitted of each kind: `seconds`, `memory` and `loose`; and `bandwidth`. On which node a
// run was is not told, so each of the others that ran at the time is taken to have been its
// neighbour as likely. Where runs say nothing about `memory`, a weak wish for what the profile
// suggests decides. Of a kind with one run all of that is the run itself, so none is predicted; a
// kind without runs is left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/sim/model.h"
#include "topology/ledger.h"

namespace pinion::sim {

struct SeenRun {
  std::string kind;
  double start = 0;  // seconds
  double run = 0;    // > 0
};

// Runs beside each other, one experiment.
struct SeenRuns {
  std::string name;
  bool pinned = false;
  std::vector<SeenRun> runs;
};

// All jobs are alike in size: so many tasks, each job as large as one NUMA node.
struct FitData {
  int tasks = 1;
  int nodes = 1;  // each with two NUMA nodes
  std::map<std::string, topology::Profile, std::less<>> kinds;
  std::vector<SeenRuns> experiments;
};

struct FitError {
  std::string experiment;
  std::string kind;
  double seen = 0;    // mean run time, seconds
  double fitted = 0;  // the same by the model
  // The same, each run by the model fitted to all others; nullopt where the kind has no other.
  std::optional<double> predicted;
};

// A parameter that the search has taken to an end of its range.
struct FitBound {
  std::string parameter;  // "bandwidth", or as "memory of stream"
  double value = 0;
};

struct Fit {
  Model model;       // without start, release, nic and traffic
  double error = 0;  // mean of |fitted / seen - 1| over the runs
  // The same of runs left out; nullopt where all kinds have one run.
  std::optional<double> cross_error;
  std::vector<FitBound> bounds;
  std::vector<FitError> by_kind;  // by experiment, then kind
};

// Deterministic. Precondition: one run or more.
[[nodiscard]] Fit fit(const FitData& data);

}  // namespace pinion::sim
