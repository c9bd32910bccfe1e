#include "cluster/extender/kube/election.h"

#include <utility>

namespace pinion::kube {

Election::Election(std::string self, const LeaseTiming& timing)
    : self_(std::move(self)), timing_(timing) {}

void Election::observe(const std::optional<LeaseRecord>& record, TimePoint now) {
  if (record != record_) changed_ = now;
  record_ = record;
  // Another took it: it cannot be before our time is over, but a person may have edited it.
  if (!ours()) leading_until_ = TimePoint::min();
}

Election::Action Election::decide(TimePoint now) const {
  if (!record_) return Action::kCreate;
  if (ours()) return Action::kRenew;
  return now >= free_from() ? Action::kTake : Action::kWait;
}

Election::TimePoint Election::free_from() const {
  if (!record_ || ours() || record_->holder.empty()) return TimePoint::min();
  // A duration that is no duration is not a reason to hurry.
  const auto duration = record_->duration.count() > 0 ? record_->duration : timing_.duration;
  return changed_ + duration;
}

LeaseRecord Election::proposal(Action action, const std::string& now_text) const {
  LeaseRecord next = record_.value_or(LeaseRecord{});
  if (action == Action::kTake) ++next.transitions;
  if (action != Action::kRenew) next.acquired = now_text;
  next.holder = self_;
  next.duration = timing_.duration;
  next.renewed = now_text;
  return next;
}

void Election::confirmed(const LeaseRecord& record, TimePoint sent, TimePoint now) {
  observe(record, now);
  if (ours()) leading_until_ = sent + timing_.renew_deadline;
}

std::optional<LeaseRecord> Election::resignation(const std::string& now_text) {
  leading_until_ = TimePoint::min();
  if (!ours()) return std::nullopt;
  LeaseRecord next = *record_;
  next.holder.clear();
  next.duration = std::chrono::seconds(1);
  next.renewed = now_text;
  return next;
}

}  // namespace pinion::kube
