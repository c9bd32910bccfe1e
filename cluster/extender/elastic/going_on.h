// Whether a Charm++ program goes on with its work once it runs with another number of PEs: one that
// hangs after its restart may still answer CCS. Pure: `now_s` is an argument.
#pragma once

#include <optional>

#include "cluster/extender/elastic/speedometer.h"

namespace pinion::cluster::elastic {

// Agents tell counters so often, and what they tell for so long may have been counted before the
// restart.
inline constexpr double kCounterReportS = 30;
inline constexpr double kOlderReportsS = 45;
// Of each PE in a second: far less than one that computes executes, far more than one that only
// answers who asks it.
inline constexpr double kLeastInstructions = 1e7;

class GoingOn {
 public:
  enum class Seen {
    kNothingTells,  // neither progress nor instructions are known
    kNotYet,
    kGoesOn,
  };
  // One look at the program since it was found with so many PEs. What it has done by its own word
  // may be less than before, as it starts from a checkpoint; it goes on once it has done more than
  // at a look before. Instructions say it when there were enough of them over one whole report.
  Seen look(const std::optional<WorkDone>& work, int pes, double now_s);

 private:
  std::optional<WorkDone> from_;
  double began_s_ = 0;
};

}  // namespace pinion::cluster::elastic
