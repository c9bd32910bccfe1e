// Pods that were bound and that their agent refuses. The kubelet tries for ever; after a while they
// are evicted, with an event that says why, so that their controller makes others, which may go to
// another node. Through the Eviction interface, so disruption budgets count.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/backoff.h"
#include "base/log/log.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/extender/wire/pod.h"

namespace pinion::cluster {

class RefusedPods {
 public:
  using Milliseconds = std::chrono::milliseconds;

  struct Options {
    Milliseconds after{};  // that a pod is refused it is evicted; 0: never
    Milliseconds retry{};  // after an eviction that failed; doubled each time, for 5 min at most
    kube::Reporter reporter{};  // of the events
  };

  // `may_act()`: asked before each eviction, under a lock: it must be quick; nothing is done while
  // another replica leads. What is passed must outlive it.
  RefusedPods(kube::Api& api, Log& log, std::function<bool()> may_act, Options options);
  RefusedPods(const RefusedPods&) = delete;
  RefusedPods& operator=(const RefusedPods&) = delete;
  ~RefusedPods();

  // A pod as it is now. Only notes what is to be done. Left alone are pods that nobody would make
  // anew, and a DaemonSet's, which would come back to the same node.
  void seen(const wire::PodSpecView& pod);
  void gone(const std::string& uid);

  [[nodiscard]] std::uint64_t evicted() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    kube::PodRef pod;
    std::string why;
    Clock::time_point due;
    Backoff backoff;
  };

  void run();
  // Error kNotFound or kConflict: there is no such pod any more.
  Status evict(const Entry& entry);

  kube::Api& api_;
  Log& log_;
  const std::function<bool()> may_act_;
  const Options options_;
  kube::Cancel cancel_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;  // by uid
  std::uint64_t evicted_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all above
};

}  // namespace pinion::cluster
