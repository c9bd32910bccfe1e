// A simulation as an SVG picture: jobs over time, CPUs over time, and how many were in use. All
// from the first submission on, and by one axis if all jobs are drawn; else utilisation is that of
// the whole run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/core/fleet.h"
#include "cluster/sim/figures.h"

namespace pinion::sim {

class Picture {
 public:
  static constexpr std::size_t kMostJobs = 300;   // the first that end are drawn
  static constexpr int kMostCpus = 256;           // of the first nodes
  static constexpr std::size_t kMostTimes = 600;  // steps of the utilisation

  void ended(const JobRecord& record);
  // From now on so many processors run something. Precondition: never earlier than the last call;
  // the first one is at the first submission.
  void busy(Ms now, std::int64_t processors);
  // `fleet`: nullptr where processors are merely counted.
  [[nodiscard]] std::string svg(std::int64_t processors, const cluster::Fleet* fleet) const;

 private:
  void spend(Ms from, Ms to);

  std::vector<JobRecord> jobs_;
  bool all_ = true;           // have been kept
  std::vector<double> work_;  // processor milliseconds in each step from the first moment
  Ms step_ = 1000;
  std::optional<Ms> first_;
  Ms last_ = 0;
  std::int64_t busy_ = 0;
};

}  // namespace pinion::sim
