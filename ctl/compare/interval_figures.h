// What is compared: a fixed list of measures, and their values over the snapshots of a recording.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/compare/comparison.h"
#include "ctl/source/node_source.h"

namespace pinion::ctl {

enum class Quantity {
  kCpu,
  kMigrations,
  kInvoluntary,
  kSwitches,
  kWait,
  kL3Misses,
  kMpki,
  kIpc,
  kRemote,
  kIntrusion,
};
inline constexpr std::size_t kQuantities = 10;

struct QuantityName {
  Quantity quantity = Quantity::kCpu;
  std::string_view name;
  std::string_view unit;
};

// All of them, in the order of the table.
inline constexpr std::array<QuantityName, kQuantities> kQuantityNames = {{
    {Quantity::kCpu, "CPU use", "cores"},
    {Quantity::kMigrations, "migrations", "1/s"},
    {Quantity::kInvoluntary, "involuntary switches", "1/s"},
    {Quantity::kSwitches, "context switches", "1/s"},
    {Quantity::kWait, "waiting for a CPU", "s/s"},
    {Quantity::kL3Misses, "L3 misses", "1/s"},
    {Quantity::kMpki, "L3 misses per 1000 instructions", ""},
    {Quantity::kIpc, "instructions per cycle", ""},
    {Quantity::kRemote, "remote memory", "%"},
    {Quantity::kIntrusion, "intrusion", "%"},
}};

// The values of each quantity, by its number.
using Series = std::array<std::vector<double>, kQuantities>;

// The same quantities of two sides as measures, in the order above.
std::vector<Measure> measures_of(const Series& a, const Series& b);

// Which containers of a snapshot are meant. Finished ones never are.
struct Selection {
  std::string job;    // empty: of any job or none
  std::string match;  // a part of "namespace/pod/container"; empty: any

  [[nodiscard]] bool holds(const v1::Container& container) const;
  // For a message: "container of job 'wind'", "container like 'solver'", "container".
  [[nodiscard]] std::string to_string() const;
};

// Collects one value of each quantity for each pass of the agent's collector. Rates are summed over
// the containers; intrusion is weighted by their CPUs; instructions per cycle, misses per
// instruction and the remote share are of the sums of the counters since the pass before (without
// memory events: the mean of what each container says of its resident pages). Snapshots without
// anything new since the one before count once, or once for each ten passes: by then all was read
// anew, and a container that does nothing is a finding too.
class IntervalFigures {
 public:
  explicit IntervalFigures(Selection selection) : selection_(std::move(selection)) {}

  void add(const v1::Snapshot& snapshot);
  [[nodiscard]] const Series& series() const { return series_; }
  [[nodiscard]] std::size_t containers_seen() const { return seen_; }  // over all snapshots

 private:
  // Whether the containers show another reading than those of the snapshot before.
  [[nodiscard]] bool is_new(const v1::Snapshot& snapshot,
                            const std::vector<v1::Container>& now) const;

  Selection selection_;
  Series series_;
  std::size_t seen_ = 0;
  std::string instance_;               // of the agent, in the snapshot before
  std::uint64_t pass_ = 0;             // of the snapshot that counted last; 0: it does not say
  std::vector<v1::Container> before_;  // the selected ones of the snapshot before, ascending by id
};

}  // namespace pinion::ctl
