// The jobs that wait for CPUs, and who is tried next.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/words.h"
#include "cluster/core/text_map.h"

namespace pinion::cluster {

enum class QueueOrder {
  kPriority,   // higher priority first, then who was submitted first
  kFairShare,  // higher priority first, then the namespace that has fewer CPUs, then as above
  // Higher priority first, then who would be over first if each had started when it was submitted
  // and ran as long as it may. So a job passes longer ones, but none that was there before it by
  // more than what that one may run: nobody is passed for ever.
  kShortest,
};
// Of a job that does not say how long it runs, for kShortest.
inline constexpr std::int64_t kUnstatedRunMs = 24LL * 3600 * 1000;
inline constexpr std::array kQueueOrderWords{Word<QueueOrder>{"priority", QueueOrder::kPriority},
                                             Word<QueueOrder>{"fair-share", QueueOrder::kFairShare},
                                             Word<QueueOrder>{"shortest", QueueOrder::kShortest}};

struct QueueEntry {
  std::string job;
  std::string name_space;
  std::int32_t priority = 0;
  std::int64_t submitted_ms = 0;
  std::int64_t run_ms = 0;  // at most; 0: not said
  int cpus = 0;             // that it wants, all members together
};

class JobQueue {
 public:
  explicit JobQueue(QueueOrder order) : order_(order) {}

  // Takes it in, or changes it.
  void push(QueueEntry entry);
  // False: it is not in the queue.
  bool erase(std::string_view job);
  [[nodiscard]] bool contains(std::string_view job) const { return entries_.contains(job); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  // The namespace has so many CPUs more (or fewer: below 0).
  void charge(const std::string& name_space, int cpus);

  // Calls `visit` with one job after another until it says false. With fair share each one visited
  // counts as if it had started. `visit` must not change the queue.
  void visit(const std::function<bool(const std::string& job)>& visit) const;
  // Empty: nobody waits.
  [[nodiscard]] std::string first() const;
  // Whether a is tried before b. Precondition: both are in the queue.
  [[nodiscard]] bool before(std::string_view a, std::string_view b) const;

 private:
  struct Key {
    std::int64_t turn_ms = 0;
    std::uint64_t number = 0;  // of the first push

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the defaulted operator
    auto operator<=>(const Key&) const = default;
  };
  struct Known {
    QueueEntry entry;
    Key key;
  };
  // By namespace; but for kFairShare all are in one.
  using Class = std::map<std::string, std::map<Key, const Known*>>;

  [[nodiscard]] std::int64_t turn_of(const QueueEntry& entry) const;
  [[nodiscard]] std::string share_of(const QueueEntry& entry) const {
    return order_ == QueueOrder::kFairShare ? entry.name_space : std::string();
  }
  [[nodiscard]] std::int64_t used(const std::string& share) const;

  const QueueOrder order_;
  TextMap<Known> entries_;
  std::map<std::int32_t, Class, std::greater<>> classes_;  // by priority
  std::map<std::string, std::int64_t> used_;               // CPUs, by namespace
  std::uint64_t pushed_ = 0;
};

}  // namespace pinion::cluster
