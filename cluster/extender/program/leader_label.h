// The leader's pod carries a label, so that a Service sends the scheduler to it: readiness says
// only whether a replica does its part, and a rollout does not wait for each to lead.
#pragma once

#include <chrono>
#include <functional>

#include "base/log/log.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/extender/program/rounds.h"

namespace pinion::cluster {

class LeaderLabel {
 public:
  // `own`: our pod, its namespace that of all replicas. `leading` is asked on a thread of our own;
  // what is passed must outlive this. The label is set and taken away within a second or two, and
  // looked after every half minute; what the API server refuses is tried again and logged once.
  LeaderLabel(kube::Api& api, kube::PodRef own, std::function<bool()> leading, Log& log);
  LeaderLabel(const LeaderLabel&) = delete;
  LeaderLabel& operator=(const LeaderLabel&) = delete;
  ~LeaderLabel();  // leaves the label as it is: a pod that ends is no endpoint any more

 private:
  std::chrono::milliseconds look();
  Status tell(bool leads);
  Status take_from_others();

  kube::Api& api_;
  const kube::PodRef own_;
  const std::function<bool()> leading_;
  Log& log_;
  kube::Cancel cancel_;
  // These three are the rounds' alone.
  bool told_ = false;
  bool trouble_ = false;
  // At once: an earlier process of this pod may have left a label.
  std::chrono::steady_clock::time_point due_{};
  Rounds rounds_{[this] { return look(); }};  // last: it uses all above
};

}  // namespace pinion::cluster
