// The pod scheduler among threads: one lock around it, calls of binds that are held wait here for
// their answer, and what the pod scheduler wants done outside is done without the lock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/log/note.h"
#include "cluster/extender/http/callbacks.h"
#include "cluster/extender/scheduling/pod_scheduler.h"
#include "cluster/extender/service/cluster.h"
#include "metrics/prometheus/histogram.h"

namespace pinion::cluster {

// What has been decided since the start.
struct PlacingFigures {
  std::uint64_t others = 0;   // filter: pods that are not ours, passed untouched
  std::uint64_t offered = 0;  // filter: some node was left
  std::uint64_t refused = 0;  // filter: none was
  std::uint64_t bound = 0;
  std::uint64_t not_bound = 0;  // binds that were refused, or that the API server did not take
  std::uint64_t woken = 0;
  std::uint64_t nominated = 0;
  std::uint64_t opened = 0;          // gates were taken off
  std::uint64_t hopeless = 0;        // was told that they fit not even the idle fleet
  prometheus::Histogram filter;      // seconds, with waiting for the lock
  prometheus::Histogram prioritize;  // the same
};

class Placing : public Callbacks {
 public:
  using Clock = std::function<std::int64_t()>;  // milliseconds that never go back
  // Is told each decision with its reason, on many threads at once; must not block.
  using Journal = std::function<void(const Note&)>;
  // Is called when tick() has something to do sooner than it has said, on many threads at once;
  // must not block.
  using Hurry = std::function<void()>;

  // `cluster` must outlive it.
  Placing(
      Cluster& cluster, const policy::Defaults& defaults, const PodSchedulerLimits& limits,
      Clock clock, Journal journal, Hurry hurry = [] {});

  wire::FilterAnswer filter(const wire::FilterAsk& ask) override;
  wire::PrioritizeAnswer prioritize(const wire::FilterAsk& ask) override;
  wire::BindAnswer bind(const wire::BindAsk& ask) override;
  wire::PreemptAnswer preempt(const wire::PreemptAsk& ask) override;
  void stopping() override;

  // One event for the pod scheduler, and what comes of it. `act(scheduler, now)` must not block.
  template <class Act>
  auto tell(Act act) {
    std::unique_lock lock(mutex_);
    auto result = act(pod_scheduler_, clock_());
    carry_out(lock);
    return result;
  }
  // A look at the pod scheduler. `see(scheduler)` must not block.
  template <class See>
  auto look(See see) const {
    const std::lock_guard lock(mutex_);
    return see(std::as_const(pod_scheduler_));
  }

  // Does what is due. Returns after how long it is to be called again, unless somebody hurries: not
  // after `most`.
  std::chrono::milliseconds tick(std::chrono::milliseconds most);
  [[nodiscard]] PlacingFigures figures() const;

 private:
  struct Held {
    std::condition_variable answered;
    std::optional<Answered> answer;
  };

  // Takes the pod scheduler's effects; unlocks, and does them.
  void carry_out(std::unique_lock<std::mutex>& lock);
  // Waits for the answer of this held call; false with `why` when it may not go.
  bool wait(std::unique_lock<std::mutex>& lock, CallId call_id, std::string& why);

  wire::BindAnswer bind_now(const PodRef& pod, const std::string& node);

  Cluster& cluster_;
  const Clock clock_;
  const Journal journal_;
  const Hurry hurry_;
  mutable std::mutex mutex_;
  PodScheduler pod_scheduler_;  // these are under the lock
  std::map<CallId, Held> held_;
  PlacingFigures figures_;
  std::int64_t tick_ms_ = kNeverDue;  // when tick() will be called at the latest
  CallId call_ids_ = 0;
  bool stopping_ = false;
};

}  // namespace pinion::cluster
