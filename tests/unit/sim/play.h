// Jobs through a machine, in one call.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/core/elastic.h"
#include "cluster/core/fleet.h"
#include "cluster/sim/job_list.h"
#include "cluster/sim/simulation.h"
#include "tests/support/machine.h"

namespace pinion::sim {

// Seconds.
inline Job job_of(std::int64_t number, int submit, int run, int processors, int request = 0) {
  Job job;
  job.number = number;
  job.submit = 1000 * Ms{submit};
  job.run = 1000 * Ms{run};
  job.request = 1000 * Ms{std::max(run, request)};
  job.shape.tasks = processors;
  return job;
}

// `run` seconds with `max` workers, twice as long with half of them.
inline Job elastic_job(std::int64_t number, int submit, int run, int min, int max,
                       int priority = 0) {
  Job job = job_of(number, submit, run, max);
  job.priority = priority;
  auto elastic = std::make_shared<Elastic>();
  elastic->min = min;
  elastic->max = max;
  elastic->speed_up = cluster::SpeedUp(0, max);
  job.elastic = std::move(elastic);
  return job;
}

inline Job with_rescale(Job job, double seconds) {
  auto elastic = std::make_shared<Elastic>(*job.elastic);
  elastic->rebalance = 1000 * seconds;
  job.elastic = std::move(elastic);
  return job;
}

// A node of two NUMA nodes with 9 CPUs each.
inline cluster::NodeReport node_report(int number, const topology::CpuSet& reserved = {0, 9}) {
  static const auto topology = std::make_shared<const topology::Topology>(test_support::machine(
      {.packages = 2, .cores_per_l3 = 9, .memory_per_node = 64 * test_support::kGiB}));
  cluster::NodeReport report;
  report.name = "node-" + std::to_string(number);
  report.topology = topology;
  report.reserved = reserved;
  return report;
}

struct Played {
  Figures figures;
  std::map<std::int64_t, std::pair<int, int>> times;  // by number: start and end, seconds
  std::vector<JobRecord> records;                     // as they ended
  std::map<std::int64_t, std::string> refused;
};

inline std::string sizes_of(const JobRecord& record) {
  std::string text;
  for (const JobRecord::Stretch& size : record.sizes) {
    text += std::to_string(size.workers) + "@" + std::to_string(size.from / 1000) + " ";
  }
  return text;
}

inline Played play(std::vector<Job> jobs, Machine& machine,
                   const SimulationSettings& settings = {.check = true}) {
  Played played;
  JobList source(std::move(jobs));
  Simulation simulation(source, machine, settings);
  simulation.on_end = [&](const JobRecord& record) {
    played.times[record.job.number] = {static_cast<int>(record.start / 1000),
                                       static_cast<int>(record.end / 1000)};
    played.records.push_back(record);
  };
  simulation.on_refused = [&](const Job& job, const std::string& why) {
    played.refused[job.number] = why;
  };
  const auto figures = simulation.run();
  EXPECT_TRUE(figures) << figures.error().text;
  if (figures) played.figures = *figures;
  return played;
}

}  // namespace pinion::sim
