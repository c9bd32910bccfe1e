#include "metrics/perf/layout.h"

#include <algorithm>

namespace pinion::metrics::perf {
namespace {

const Counted* find(const std::vector<Counted>& events, Event event) {
  const auto it = std::find_if(events.begin(), events.end(),
                               [event](const Counted& each) { return each.event == event; });
  return it == events.end() ? nullptr : &*it;
}

// Those of `wanted` that are in `events`, in groups of `limit` at most.
void add(EventSet& set, const std::vector<Counted>& events, std::initializer_list<Event> wanted,
         std::size_t limit) {
  Group group;
  for (const Event event : wanted) {
    const Counted* counted = find(events, event);
    if (counted == nullptr) continue;
    if (group.size() == limit) set.groups.push_back(std::exchange(group, {}));
    group.push_back(*counted);
  }
  if (!group.empty()) set.groups.push_back(std::move(group));
}

}  // namespace

std::size_t EventSet::events() const {
  std::size_t sum = 0;
  for (const Group& group : groups) sum += group.size();
  return sum;
}

std::optional<std::size_t> EventSet::position(Event event) const {
  std::size_t at = 0;
  for (const Group& group : groups) {
    for (const Counted& counted : group) {
      if (counted.event == event) return at;
      ++at;
    }
  }
  return std::nullopt;
}

EventSet layout(const std::vector<Counted>& events, int counters) {
  EventSet set;
  add(set, events,
      {Event::kContextSwitches, Event::kMigrations, Event::kPageFaults, Event::kTaskClock},
      kSoftwareEvents);
  if (counters <= 0) return set;
  const auto limit = static_cast<std::size_t>(counters);
  add(set, events, {Event::kCycles, Event::kInstructions, Event::kL3Misses}, limit);
  add(set, events, {Event::kLocalDram, Event::kRemoteDram}, limit);
  return set;
}

}  // namespace pinion::metrics::perf
