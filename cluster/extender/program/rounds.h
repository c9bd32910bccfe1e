// A thread that goes round: the same is done again and again, with a pause in between.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace pinion::cluster {

class Rounds {
 public:
  // `round` returns how long the pause after it is; a pause may end early. What it uses must
  // outlive this.
  explicit Rounds(std::function<std::chrono::milliseconds()> round)
      : round_(std::move(round)), thread_([this] { run(); }) {}
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  // Waits for the round that is under way.
  ~Rounds() {
    stop();
    thread_.join();
  }

  // Ends a pause that is under way.
  void hurry() { changed_.notify_all(); }
  // No round begins any more. From now on stopping() tells the round that is under way.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      const auto pause = round_();
      lock.lock();
      if (!stopping_) changed_.wait_for(lock, pause);
    }
  }

  const std::function<std::chrono::milliseconds()> round_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all above
};

}  // namespace pinion::cluster
