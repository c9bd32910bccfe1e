// What `pinion-sim run` is told on its command line.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cluster/core/elastic.h"
#include "cluster/core/granularity.h"
#include "cluster/core/placement.h"
#include "cluster/sim/malleable.h"
#include "cluster/sim/pool_queue.h"

namespace pinion::sim {

struct RunOptions {
  std::string trace;
  std::string jobs;
  std::string generate;
  double load = 0;
  int largest = 0;  // 0: all processors
  double overestimate = 1;
  std::optional<double> submission_gap;  // seconds

  std::int64_t processors = 0;
  std::string fleet;

  std::optional<cluster::ElasticPolicy> elastic;
  double rescale_gap = 180;  // seconds
  bool curves_told = true;
  cluster::ElasticKnobs knobs;
  std::optional<Malleable> malleable;

  QueueRule queue = QueueRule::kOurs;
  std::string placement;  // empty: pool with --processors, else ours
  cluster::Policy granularity = cluster::Policy::kNone;
  bool groups = true;
  bool pinned = true;
  bool insist = true;
  bool keeps_to_nodes = true;
  int workers = 0;  // 0: each job's own
  int search = cluster::PlanLimits().steps;
  int depth = 100;
  std::string model;

  std::uint64_t seed = 1;
  std::int64_t limit = 0;
  bool check = false;
  std::string json;
  std::string per_job;
  std::string svg;
};

// What they say of the same thing twice, or of nothing that they have, is refused when `command`
// has been parsed: by check_run_options(), with CLI::ValidationError.
void add_run_options(CLI::App& command, RunOptions& options);
void check_run_options(const CLI::App& command, const RunOptions& options);

// Placement "pool" is none of them.
[[nodiscard]] std::optional<cluster::PlacementPolicy> node_placement(const std::string& word);

}  // namespace pinion::sim
