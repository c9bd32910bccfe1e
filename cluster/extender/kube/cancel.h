// Ends what a thread waits for, from another thread.
#pragma once

#include <atomic>
#include <chrono>

#include "base/fd.h"

namespace pinion::kube {

class Cancel {
 public:
  // Where nothing but looking again tells of a cancel(): how often to look.
  static constexpr std::chrono::milliseconds kLook{50};

  Cancel();

  // For ever; any number of times, from any thread.
  void cancel();
  [[nodiscard]] bool cancelled() const { return cancelled_; }

  // For poll(2): readable once it is cancelled. -1 when the system had no descriptor left: who
  // waits then has to look every kLook.
  [[nodiscard]] int descriptor() const { return event_.get(); }
  // A pause. True: it was cancelled.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds pause) const;

 private:
  std::atomic<bool> cancelled_ = false;
  Fd event_;
};

}  // namespace pinion::kube
