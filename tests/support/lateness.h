// How late this machine wakes who sleeps: what a limit of time has to allow for while it does other
// work as well.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace pinion::test_support {

// Sleeps a hundredth of a second again and again, beside what is measured.
class Lateness {
 public:
  Lateness() : thread_([this] { sleep(); }) {}
  Lateness(const Lateness&) = delete;
  Lateness& operator=(const Lateness&) = delete;
  ~Lateness() {
    ended_ = true;
    thread_.join();
  }

  // By how much it came late in all since it began.
  [[nodiscard]] std::chrono::steady_clock::duration so_far() const { return late_.load(); }

 private:
  using Clock = std::chrono::steady_clock;

  void sleep() {
    constexpr std::chrono::milliseconds time{10};
    while (!ended_) {
      const auto begun = Clock::now();
      std::this_thread::sleep_for(time);
      late_ = late_.load() + (Clock::now() - begun - time);
    }
  }

  std::atomic<bool> ended_ = false;
  std::atomic<Clock::duration> late_ = Clock::duration::zero();
  std::thread thread_;
};

}  // namespace pinion::test_support
