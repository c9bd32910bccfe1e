#include <algorithm>
#include <array>
#include <map>

#include "agent/http/expose_parts.h"

namespace pinion::agent {
namespace {

using prometheus::Metric;
using prometheus::series;
using prometheus::Writer;
using topology::Reason;

// Every reason that there is has a series from the start: rate() and increase() miss the first
// refusal of a series that begins with it.
void refusals(Writer& writer, const NodeView& view) {
  auto by_reason = view.counters.refused;
  for (const Reason reason : {Reason::kCpus, Reason::kMemory, Reason::kIsolated, Reason::kReserved,
                              Reason::kTopology, Reason::kLastShared, Reason::kAnnotation}) {
    by_reason.try_emplace(std::string(topology::to_string(reason)), 0);
  }
  writer.family(series(Metric::kRefusals));
  for (const auto& [reason, count] : by_reason) writer.sample({}, {{"reason", reason}}, count);
}

void kinds(Writer& writer, Metric metric, std::uint64_t exclusive, std::uint64_t shared) {
  writer.parts(series(metric), "kind", {{"exclusive", exclusive}, {"shared", shared}});
}

// Only reasons that there are: most nodes lend nothing.
void not_lent(Writer& writer, const NodeView& view) {
  std::map<std::string_view, std::uint64_t> by_reason;
  for (const ContainerView& one : view.containers) {
    if (one.not_lent != engine::NoLoan::kNone) {
      ++by_reason[word_of(one.not_lent, engine::kNoLoanWords)];
    }
  }
  writer.family(series(Metric::kContainersNotLent));
  for (const auto& [reason, count] : by_reason) writer.sample({}, {{"reason", reason}}, count);
}

struct Count {
  Metric metric;
  std::uint64_t engine::Counters::*value;
};
constexpr std::array kCounts{Count{Metric::kPreferredNotMet, &engine::Counters::preferred_not_met},
                             Count{Metric::kResizes, &engine::Counters::resized},
                             Count{Metric::kRanksKept, &engine::Counters::kept},
                             Count{Metric::kRanksMoved, &engine::Counters::moved},
                             Count{Metric::kUnplaced, &engine::Counters::unplaced},
                             Count{Metric::kAdopted, &engine::Counters::adopted},
                             Count{Metric::kLostStops, &engine::Counters::lost_stops},
                             Count{Metric::kLate, &engine::Counters::late},
                             Count{Metric::kDrift, &engine::Counters::drift},
                             Count{Metric::kRepairs, &engine::Counters::repairs},
                             Count{Metric::kWriteFailures, &engine::Counters::write_failures},
                             Count{Metric::kPartitionsMade, &engine::Counters::guarded},
                             Count{Metric::kPartitionsFailed, &engine::Counters::unguarded},
                             Count{Metric::kQosGroupsLost, &engine::Counters::qos_groups_lost},
                             Count{Metric::kMachineChanges, &engine::Counters::machine_changes}};

std::string_view truth(bool value) {
  return value ? "true" : "false";
}

}  // namespace

void expose_placement(Writer& writer, const NodeView& view) {
  const auto exclusive = std::count_if(view.containers.begin(), view.containers.end(),
                                       [](const ContainerView& one) { return one.exclusive; });
  const auto misplaced =
      std::count_if(view.containers.begin(), view.containers.end(),
                    [](const ContainerView& one) { return !one.trouble.empty(); });
  kinds(writer, Metric::kContainers, static_cast<std::uint64_t>(exclusive),
        view.containers.size() - static_cast<std::uint64_t>(exclusive));
  writer.single(series(Metric::kContainersMisplaced), static_cast<std::uint64_t>(misplaced));
  not_lent(writer, view);
  kinds(writer, Metric::kPlaced, view.counters.exclusive_placed, view.counters.shared_placed);
  refusals(writer, view);
  for (const Count& count : kCounts) {
    writer.single(series(count.metric), view.counters.*count.value);
  }
  writer.single(series(Metric::kSynchronized), std::uint64_t{view.synchronized ? 1U : 0U});
  writer.single(series(Metric::kGeneration), view.generation);
  if (view.fence.empty()) return;
  writer.family(series(Metric::kFenceInfo));
  writer.sample({},
                {{"fence", view.fence},
                 {"weakened", truth(view.fence_weakened)},
                 {"compares_files", truth(view.compares_files)},
                 {"strict_cpu_reservation", truth(view.ledger.strict())}},
                std::uint64_t{1});
}

}  // namespace pinion::agent
