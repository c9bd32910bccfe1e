// A thread that goes round: the same is done again and again, with a pause in between.
#pragma once

#include <algorithm>
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
  // `least`: no pause is shorter, unless its round says so.
  explicit Rounds(std::function<std::chrono::milliseconds()> round,
                  std::chrono::milliseconds least = {})
      : round_(std::move(round)), least_(least), thread_([this] { run(); }) {}
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  // Waits for the round that is under way.
  ~Rounds() {
    stop();
    thread_.join();
  }

  // Ends a pause that is under way, or after the round that is.
  void hurry() {
    {
      const std::lock_guard lock(mutex_);
      hurried_ = true;
    }
    changed_.notify_all();
  }
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
      hurried_ = false;
      lock.unlock();
      const std::chrono::milliseconds pause = round_();
      lock.lock();
      const auto least = std::min(least_, pause);
      if (changed_.wait_for(lock, least, [this] { return stopping_; })) return;
      changed_.wait_for(lock, pause - least, [this] { return stopping_ || hurried_; });
    }
  }

  const std::function<std::chrono::milliseconds()> round_;
  const std::chrono::milliseconds least_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool hurried_ = false;  // since the round began
  std::thread thread_;    // last: it uses all above
};

}  // namespace pinion::cluster
