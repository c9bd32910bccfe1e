// How long to wait before the next attempt to connect.
#pragma once

#include <chrono>

#include "base/backoff.h"

namespace pinion::nri {

// Two kinds of failure are counted apart. A socket that is absent or refuses: the runtime is down
// or restarting, and asking again costs it nothing, so 10 ms doubling to 200 ms. A runtime that
// accepts and then fails the handshake or drops the session at once: 50 ms doubling to 10 s.
class ReconnectBackoff {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // A session that was synchronized for this long was a good one: both counts begin anew.
  static constexpr Milliseconds kStable{1000};

  ReconnectBackoff();

  // Each returns the time to wait from now on.
  [[nodiscard]] Milliseconds connect_failed();
  // `synchronized_for`: how long the session was synchronized; 0 when it did not get there.
  [[nodiscard]] Milliseconds session_failed(Milliseconds synchronized_for);

 private:
  Backoff connect_;
  Backoff session_;
};

}  // namespace pinion::nri
