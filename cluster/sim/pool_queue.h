// The jobs that wait for processors, and in which order. For processors that are merely counted;
// where jobs get CPUs of nodes, the core's own queue is asked (cluster/core/job_queue.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "cluster/sim/machine.h"

namespace pinion::sim {

enum class QueueRule {
  kFcfs,      // by submission, ties by job number; nobody goes before the first
  kEasy,      // the same order; others go past where that does not delay the first (EASY)
  kPriority,  // higher priority first, then as fcfs; nobody goes before the first
  kFair,      // of equal priorities whose user has fewest processors; nobody before the first
  kOurs,      // the extender's default: by priority as above, and others go past as with EASY
  kShortest,  // of equal priorities by submission and request together; the same
};
[[nodiscard]] constexpr bool backfills(QueueRule rule) {
  return rule == QueueRule::kEasy || rule == QueueRule::kOurs || rule == QueueRule::kShortest;
}
[[nodiscard]] constexpr bool knows_priority(QueueRule rule) {
  return rule != QueueRule::kFcfs && rule != QueueRule::kEasy;
}

struct Waiting {
  struct Key {
    std::int64_t urgency = 0;  // -priority; 0 where that does not count
    Ms turn = 0;  // when it was submitted, and kShortest: when it would be over at the latest
    std::int64_t number = 0;
    Handle handle = 0;

    bool operator<(const Key& other) const {
      return std::tie(urgency, turn, number, handle) <
             std::tie(other.urgency, other.turn, other.number, other.handle);
    }
  };
  Key key;
  std::int64_t processors = 0;
  Ms request = 0;
  std::string share;  // whose, with fair queueing; else empty
};

class PoolQueue {
 public:
  using Line = std::map<Waiting::Key, Waiting>;

  void push(Waiting job);
  // Precondition: it is there.
  void erase(const Waiting& job);
  // Processors that the share has more (or fewer: below 0).
  void charge(const std::string& share, std::int64_t processors);
  // nullptr: nobody waits.
  [[nodiscard]] const Waiting* first() const;
  // Everybody, in order; only where there are no shares.
  [[nodiscard]] const Line& line() const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  [[nodiscard]] std::int64_t used(const std::string& share) const;

  std::map<std::string, Line, std::less<>> lines_;  // by share
  std::map<std::string, std::int64_t, std::less<>> used_;
  std::size_t size_ = 0;
};

}  // namespace pinion::sim
