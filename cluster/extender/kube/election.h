// Who of several replicas leads, by one record that all of them see: the decisions. No I/O, no
// clock; see lease.h for the record's place.
//
// The rules are those of client-go's leader election. A follower takes the lead when the record has
// not changed for the duration that stands in it, by the follower's own clock and counted from when
// it saw the last change; the times in the record are for people. A leader stops believing when the
// renewal that was last confirmed was *sent* longer ago than `renew_deadline`, by its own clock.
//
// So two never lead at once as long as clocks run at rates that differ by less than duration /
// renew_deadline (8 / 5: one runs 1.6 times as fast as another), whatever the times that they
// show, however long messages take or a process stands still: the record changes only for who names
// the version that it has, and a follower sees a change only after it was sent.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace pinion::kube {

// About half of client-go's usual times, so that a successor answers within 10 s: for gangs that
// wait in the scheduler, nobody does until then. Where the leader ends just after a renewal, its
// follower sees that one with its next look, at most one and a half retries later, and takes the
// record when the duration is over: 9.5 s.
struct LeaseTiming {
  std::chrono::seconds duration{8};
  std::chrono::milliseconds renew_deadline{5000};  // below the duration
  std::chrono::milliseconds retry{1000};           // between two looks at the record
};

// How long a call may take that only the leader makes, and asks before it whether it leads: below
// the time that a lost lead leaves until another one may begin.
inline constexpr std::chrono::milliseconds kLeadersCallLimit{2500};
static_assert(kLeadersCallLimit < LeaseTiming{}.duration - LeaseTiming{}.renew_deadline);

struct LeaseRecord {
  std::string holder;             // empty: free
  std::chrono::seconds duration;  // as the holder wrote it
  std::string acquired;           // these two as MicroTime, for people
  std::string renewed;
  int transitions = 0;  // how often the holder has changed
  std::string version;  // resourceVersion: another one is another record

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// One candidate's knowledge and what follows from it. Times are the candidate's own steady clock.
class Election {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Action {
    kCreate,  // there is no record
    kTake,    // it is free, or its holder is silent for too long
    kRenew,   // it is ours
    kWait,    // it is another's
  };

  Election(std::string self, const LeaseTiming& timing);

  // The record as just read; none: there is none.
  void observe(const std::optional<LeaseRecord>& record, TimePoint now);
  [[nodiscard]] Action decide(TimePoint now) const;
  // When another's record may be taken if it does not change before; in the past for all others.
  [[nodiscard]] TimePoint free_from() const;
  // The record to be written for an action other than kWait; `now_text` is the time for people. Its
  // version is the one that it replaces, empty for kCreate.
  [[nodiscard]] LeaseRecord proposal(Action action, const std::string& now_text) const;
  // The record with us as its holder was accepted; it was sent at `sent`.
  void confirmed(const LeaseRecord& record, TimePoint sent, TimePoint now);
  // The record that gives the lead back; none when it is not ours. We do not lead from now on.
  [[nodiscard]] std::optional<LeaseRecord> resignation(const std::string& now_text);

  // Until when we lead: a moment in the past when we do not.
  [[nodiscard]] TimePoint leading_until() const { return leading_until_; }
  [[nodiscard]] bool leading(TimePoint now) const { return now < leading_until_; }
  [[nodiscard]] const std::optional<LeaseRecord>& record() const { return record_; }

 private:
  [[nodiscard]] bool ours() const { return record_ && record_->holder == self_; }

  std::string self_;
  LeaseTiming timing_;
  std::optional<LeaseRecord> record_;
  TimePoint changed_{};  // when we saw that it was another one than before
  TimePoint leading_until_ = TimePoint::min();
};

}  // namespace pinion::kube
