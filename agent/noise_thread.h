// The thread that keeps kernel noise off exclusive CPUs: it follows the views, long after the
// runtime has its answer, and nothing waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/noise/kernel_noise.h"
#include "agent/published.h"
#include "agent/view.h"
#include "base/log/log.h"

namespace pinion::agent {

class NoiseThread {
 public:
  // Starts at once; does nothing before all containers are known. While CPUs are held exclusively
  // it looks every `interval` for interrupts that are new or were set by others. What it is given
  // must outlive it.
  NoiseThread(noise::KernelNoise& noise, Published<NodeView>& views,
              Published<noise::Figures>& figures, Log& log, std::chrono::milliseconds interval);
  NoiseThread(const NoiseThread&) = delete;
  NoiseThread& operator=(const NoiseThread&) = delete;
  // Follows the newest view once more, so that nothing is left where no rank is.
  ~NoiseThread();

 private:
  void run();
  // Brings the kernel in line with the newest view where that has changed, or `look` says that
  // others may have. False: there is nothing to look after until the next view.
  bool follow(bool look);
  void tell(const noise::Pass& pass, const topology::CpuSet& exclusive);

  noise::KernelNoise& noise_;
  Published<NodeView>& views_;
  Published<noise::Figures>& figures_;
  Log& log_;
  std::chrono::milliseconds interval_;
  std::optional<topology::CpuSet> applied_;  // for which CPUs, last
  bool told_irqbalance_ = false;
  std::string told_failure_;
  std::uint64_t corrections_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool news_ = true;
  bool stop_ = false;
  Subscription subscription_;
  std::thread thread_;
};

// A line for the log where a restoring pass has written something.
void tell_restored(const noise::Pass& pass, Log& log);

}  // namespace pinion::agent
