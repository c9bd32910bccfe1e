// What one watcher is sent next, and when: pure, the time is an argument. One message at a time is
// made, from the newest picture and the one sent before, so a watcher that reads slowly gets fewer
// and larger changes and nothing piles up.
#pragma once

#include <chrono>
#include <memory>

#include "agent/api/picture.h"

namespace pinion::agent::api {

// What a reader asked for.
struct WatchTerms {
  bool figures = false;
  std::chrono::milliseconds interval{0};          // the least between two messages
  std::chrono::milliseconds figures_interval{0};  // the same for those with figures alone
};

struct WatchTimes {
  std::chrono::milliseconds least{50};        // between two messages, whatever the reader asked for
  std::chrono::milliseconds heartbeat{5000};  // after so long without a message
  std::chrono::milliseconds patience{30000};  // for one write to complete
};

class WatchState {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  WatchState(const WatchTerms& terms, const WatchTimes& times);

  // The next message after `picture` (may be nullptr: no view yet), which then counts as being
  // written. False: nothing is to be sent now; `message` is then undefined.
  bool next(const std::shared_ptr<const Picture>& picture, TimePoint now,
            v1::WatchNodeResponse& message);
  // The message was taken by the transport.
  void written() { writing_ = false; }

  // Nothing was read for so long that the reader is to be cut off.
  [[nodiscard]] bool overdue(TimePoint now) const {
    return writing_ && now - begun_ >= times_.patience;
  }
  // When next() or overdue() will have another answer, `picture` being the newest one.
  [[nodiscard]] TimePoint wake(const Picture* picture) const;

 private:
  void full(const Picture& picture, v1::Snapshot& snapshot) const;
  bool difference(const Picture& picture, bool with_figures, v1::Change& change) const;
  [[nodiscard]] bool figures_due(const Picture& picture, TimePoint now) const;

  WatchTerms terms_;
  WatchTimes times_;
  std::shared_ptr<const Picture> sent_;  // what the reader knows; nullptr: nothing yet
  // Whose figures it knows at least: counters never go back, so what differs from these is new.
  std::shared_ptr<const Picture> measured_;
  TimePoint begun_;    // the last message; of no meaning before the first
  TimePoint figured_;  // the last time that measured_ was brought up to date
  bool writing_ = false;
};

}  // namespace pinion::agent::api
