// The desk among threads: one lock around it, calls of binds that are held wait here for their
// answer, and what the desk wants done outside is done without the lock.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "extender/desk/desk.h"
#include "extender/http/callbacks.h"
#include "extender/service/cluster.h"

namespace pinion::extender {

class Placing : public Callbacks {
 public:
  using Clock = std::function<std::int64_t()>;  // milliseconds that never go back

  // `cluster` must outlive it.
  Placing(Cluster& cluster, const engine::Defaults& defaults, const DeskLimits& limits,
          Clock clock);

  wire::FilterAnswer filter(const wire::FilterAsk& ask) override;
  wire::PrioritizeAnswer prioritize(const wire::FilterAsk& ask) override;
  wire::BindAnswer bind(const wire::BindAsk& ask) override;
  wire::PreemptAnswer preempt(const wire::PreemptAsk& ask) override;
  void stopping() override;

  // One event for the desk, and what comes of it. `act(desk, now)` must not block.
  template <class Act>
  auto tell(Act act) {
    std::unique_lock lock(mutex_);
    auto result = act(desk_, clock_());
    settle(lock);
    return result;
  }
  // A look at the desk. `look(desk)` must not block.
  template <class Look>
  auto look(Look look) const {
    const std::lock_guard lock(mutex_);
    return look(std::as_const(desk_));
  }

  // To be called a few times a second.
  void tick();

 private:
  struct Held {
    std::condition_variable answered;
    std::optional<Answered> answer;
  };

  // Takes the desk's effects; unlocks, and does them.
  void settle(std::unique_lock<std::mutex>& lock);
  // Waits for the answer of this held call; false with `why` when it may not go.
  bool wait(std::unique_lock<std::mutex>& lock, Ticket ticket, std::string& why);

  Cluster& cluster_;
  const Clock clock_;
  mutable std::mutex mutex_;
  Desk desk_;  // these are under the lock
  std::map<Ticket, Held> held_;
  Ticket tickets_ = 0;
  bool stopping_ = false;
};

}  // namespace pinion::extender
