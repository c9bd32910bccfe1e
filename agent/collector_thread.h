// The thread that measures: takes the newest view, makes a pass, publishes the sample. Nothing
// waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "agent/published.h"
#include "agent/targets.h"
#include "agent/view.h"
#include "metrics/collect/collector.h"

namespace pinion::agent {

class CollectorThread {
 public:
  // Starts at once. What it is given must outlive it.
  CollectorThread(metrics::Collector& collector, const Published<NodeView>& views,
                  Published<metrics::Sample>& samples, std::chrono::milliseconds interval);
  CollectorThread(const CollectorThread&) = delete;
  CollectorThread& operator=(const CollectorThread&) = delete;
  ~CollectorThread();  // stops after the pass that runs

 private:
  void run();

  metrics::Collector& collector_;
  const Published<NodeView>& views_;
  Published<metrics::Sample>& samples_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pinion::agent
