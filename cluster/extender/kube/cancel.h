// Ends what a thread waits for, from another thread.
#pragma once

#include <atomic>
#include <chrono>

#include "base/fd.h"

namespace pinion::kube {

using TimePoint = std::chrono::steady_clock::time_point;

class Cancel {
 public:
  enum class Woken { kReady, kDeadline, kCancelled };

  Cancel();

  // For ever; any number of times, from any thread.
  void cancel();
  [[nodiscard]] bool cancelled() const { return cancelled_; }

  // Until the descriptor has one of poll(2)'s `events` (or an error to be read), or the deadline,
  // or cancel(), whatever comes first.
  [[nodiscard]] Woken wait(int fd, short events, TimePoint until) const;
  // A pause. True: it was cancelled.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds pause) const;

 private:
  std::atomic<bool> cancelled_ = false;
  Fd event_;  // readable once it is cancelled; invalid when the system had no descriptor left
};

}  // namespace pinion::kube
