// The groups inside a container's group of cgroup v1, as systemd or Docker make them there. The
// kernel wants a group's CPUs to be a subset of those of the group around it at every moment, so
// the file of each is written, and a tenant may make thousands: a turn of the main loop follows a
// few. On v2 nothing is written inside: the kernel clips there what a container has.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/engine/events.h"
#include "base/error.h"

namespace pinion::cgroup {

// Of a container no more of them are followed, as nobody in earnest has so many: it stays on what
// it has then.
inline constexpr int kMostInnerGroups = 10'000;

// How many groups inside containers may be looked at in one turn. The first one may, however late.
class Allowance {
 public:
  using Clock = std::chrono::steady_clock;

  Allowance(int groups, Clock::time_point until) : left_(groups), until_(until) {}
  // For who may wait.
  static Allowance without_bound() { return {kMostInnerGroups + 1, Clock::time_point::max()}; }

  // False: no more in this turn.
  [[nodiscard]] bool take() {
    if (left_ == 0 || (taken_ && Clock::now() >= until_)) return false;
    taken_ = true;
    --left_;
    return true;
  }

 private:
  int left_;
  Clock::time_point until_;
  bool taken_ = false;
};

// What of a container's groups is to be brought about.
struct InnerTarget {
  engine::CpuSet now;  // its own group's
  engine::CpuSet wanted;
  // Those inside with one of these have all of it, as those with `now`: they had, when an earlier
  // target did not get through.
  std::vector<engine::CpuSet> halfway;
};

class InnerWalk;

class InnerGroups {
 public:
  InnerGroups();
  InnerGroups(InnerGroups&&) noexcept;
  InnerGroups& operator=(InnerGroups&&) noexcept;
  ~InnerGroups();

  // Brings the container's group, open as `group`, to the target and those inside along, narrower
  // ones first: one that had all of it has all of it again, another keeps what it has in common,
  // and all of it where that is nothing. While that takes several calls, the container's group has
  // both sets. False: the allowance is used up; the same target goes on where it stopped. Errors:
  // of the system; kInvalid where they are nested too deeply, kExhausted where they are too many.
  [[nodiscard]] Result<bool> bring(const std::string& id, int group, const InnerTarget& target,
                                   Allowance& allowance);

  // Nobody goes on: descriptors are closed.
  void forget();

 private:
  std::map<std::string, std::unique_ptr<InnerWalk>> walks_;  // by container
};

}  // namespace pinion::cgroup
