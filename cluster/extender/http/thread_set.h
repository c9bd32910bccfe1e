// Threads with small stacks, one for each piece of work that is given, up to a bound; each ends
// with its work. A pool of a fixed size would not do: calls that are held would fill it and the
// others wait behind them.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>

namespace pinion::cluster {

class ThreadSet {
 public:
  ThreadSet(std::size_t limit, std::size_t stack_bytes);
  ThreadSet(const ThreadSet&) = delete;
  ThreadSet& operator=(const ThreadSet&) = delete;
  // Waits for all work.
  ~ThreadSet();

  // False: as many run already as may, or the system gives no thread; `work` is gone then.
  bool run(std::function<void()> work);
  [[nodiscard]] std::size_t running() const;
  // Waits until nothing runs; false after `time`.
  bool wait_idle(std::chrono::milliseconds time);

 private:
  struct Worker {
    ThreadSet* set = nullptr;
    std::function<void()> work;
    pthread_t thread{};
  };
  using Workers = std::list<Worker>;

  static void* main(void* worker);
  void ended(Worker* worker);
  // Both need the lock.
  bool start(Worker& worker);
  void join_ended();

  const std::size_t limit_;
  const std::size_t stack_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Workers running_;
  Workers ended_;  // to be joined
};

}  // namespace pinion::cluster
