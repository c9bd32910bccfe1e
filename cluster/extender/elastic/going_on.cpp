#include "cluster/extender/elastic/going_on.h"

namespace pinion::cluster::elastic {

GoingOn::Seen GoingOn::look(const std::optional<WorkDone>& work, int pes, double now_s) {
  if (!work) return from_ ? Seen::kNotYet : Seen::kNothingTells;
  const bool same = from_ && from_->measure == work->measure;
  if (!same) began_s_ = now_s;
  if (!same || work->progress.done < from_->progress.done) {
    from_ = work;
    return Seen::kNotYet;
  }
  const double done = work->progress.done - from_->progress.done;
  if (work->measure == SpeedSeen::Measure::kProgress) {
    return done > 0 ? Seen::kGoesOn : Seen::kNotYet;
  }
  const double seconds = work->at_s - from_->at_s;
  const bool may_be_older = now_s - began_s_ < kOlderReportsS;
  if (!may_be_older && seconds < kCounterReportS) return Seen::kNotYet;
  from_ = work;
  return !may_be_older && done >= kLeastInstructions * pes * seconds ? Seen::kGoesOn
                                                                     : Seen::kNotYet;
}

}  // namespace pinion::cluster::elastic
