// Pods that were bound and that their agent refuses. The kubelet tries for ever; after a while they
// are evicted, with an event that says why, so that their controller makes others, which may go to
// another node. Through the Eviction interface, so disruption budgets count.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/log/log.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/extender/program/keyed_queue.h"
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

  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

 private:
  struct Refused {
    kube::PodRef pod;
    std::string why;
  };

  Worked evict(const Refused& refused);

  kube::Api& api_;
  Log& log_;
  const Options options_;
  kube::Cancel cancel_;
  std::atomic<std::uint64_t> evicted_ = 0;
  KeyedQueue<std::string, Refused> queue_;  // by uid; last: it uses all above
};

}  // namespace pinion::cluster
