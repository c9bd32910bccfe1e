#include "agent/collector_thread.h"

#include <pthread.h>

#include <algorithm>

namespace pinion::agent {

CollectorThread::CollectorThread(metrics::Collector& collector, const Published<NodeView>& views,
                                 Published<metrics::Sample>& samples,
                                 std::chrono::milliseconds interval)
    : collector_(collector), views_(views), samples_(samples), interval_(interval), thread_([this] {
        run();
      }) {}

CollectorThread::~CollectorThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void CollectorThread::run() {
  pthread_setname_np(pthread_self(), "counters");
  Targets targets;
  auto next = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    if (const auto view = views_.get()) {
      const auto& list = targets.update(*view);
      samples_.publish(std::make_shared<const metrics::Sample>(collector_.pass(list)));
    }
    lock.lock();
    // After a pass that took too long the next one keeps its full distance: no catching up.
    next = std::max(next + interval_, std::chrono::steady_clock::now());
    wake_.wait_until(lock, next, [this] { return stop_; });
  }
}

}  // namespace pinion::agent
