// Jobs through a machine, in one call.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/sim/jobs_file.h"
#include "cluster/sim/simulation.h"

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

struct Played {
  Figures figures;
  std::map<std::int64_t, std::pair<int, int>> times;  // by number: start and end, seconds
  std::vector<JobRecord> records;                     // as they ended
  std::map<std::int64_t, std::string> refused;
};

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
