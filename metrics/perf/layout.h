// Which events are opened as one group. Events of one group are on the PMU together or not at all,
// so their quotients (instructions per cycle, misses per instruction, the remote share) hold even
// when the kernel takes turns between groups.
#pragma once

#include <optional>
#include <vector>

#include "metrics/perf/event_table.h"

namespace pinion::metrics::perf {

struct Counted {
  Event event = Event::kCycles;
  Encoding encoding;

  bool operator==(const Counted&) const = default;
};

using Group = std::vector<Counted>;

// What is opened for one container on one CPU: each event in one group at most.
struct EventSet {
  std::vector<Group> groups;

  [[nodiscard]] std::size_t events() const;  // descriptors for each container and CPU
  // Place of the event when all groups are written one after the other; not set: not in it.
  [[nodiscard]] std::optional<std::size_t> position(Event event) const;

  bool operator==(const EventSet&) const = default;
};

// The groups for these events. `counters`: events that this machine's PMU can take in one group;
// no hardware group is larger, and with 0 there is none. Software events need no counter: they are
// one group, always. An event that is named twice is counted once.
//   software                               context-switches, migrations, page-faults, task-clock
//   3 counters or more                     cycles + instructions + l3-misses | local + remote
//   2 counters                             cycles + instructions | l3-misses | local + remote
//   1 counter                              each alone
EventSet layout(const std::vector<Counted>& events, int counters);

}  // namespace pinion::metrics::perf
