// So many processors, all alike: jobs take any of them. What other simulators do, for comparison.
//
// EASY backfilling (Lifka 1995) as in the textbooks: the first job that does not fit gets a
// reservation, the earliest moment at which enough processors are free if everybody runs as long as
// they asked for. Whoever is behind it may start when they fit now and either end by that moment,
// by what they asked for, or take only processors that the first one leaves spare then.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/sim/pool_queue.h"

namespace pinion::sim {

class Pool : public Machine {
 public:
  // Precondition: processors >= 1.
  Pool(std::int64_t processors, QueueRule rule)
      : rule_(rule), processors_(processors), free_(processors) {}

  [[nodiscard]] std::int64_t processors() const override { return processors_; }
  [[nodiscard]] std::string never(const Job& job) override;
  void submit(Handle handle, const Job& job, Ms now) override;
  void end(Handle handle, Ms now) override;
  std::vector<Started> pass(Ms now) override;
  [[nodiscard]] Status check(Ms now) const override;

  struct Reservation {
    Handle job = 0;
    Ms from = 0;             // its job starts by then
    std::int64_t spare = 0;  // processors that it leaves to others from then on
  };
  // Of the first in the queue; nullopt: nobody waits, or the rule has none.
  [[nodiscard]] const std::optional<Reservation>& reservation() const { return reservation_; }

 private:
  struct Running {
    std::int64_t processors = 0;
    Ms until = 0;  // by its request
    std::string share;
  };

  void start(const Waiting& job, Ms now);
  void reserve(const Waiting& first, Ms now);
  void try_past(const Waiting& job, Ms now, std::vector<Waiting>& chosen);
  void backfill(Ms now);

  const QueueRule rule_;
  const std::int64_t processors_;
  std::int64_t free_;
  PoolQueue queue_;
  std::unordered_map<Handle, Running> running_;
  std::set<std::pair<Ms, Handle>> endings_;  // by request
  std::vector<Waiting::Key> arrived_;        // since the last pass
  bool ended_ = false;                       // somebody, since the last pass
  std::optional<Reservation> reservation_;
  std::vector<Started> started_;
};

}  // namespace pinion::sim
