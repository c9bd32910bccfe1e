// Measures all containers of the node, a pass at a time. Owned and called by one thread; what it
// returns is a value for all others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "metrics/collect/tracked.h"
#include "metrics/figures.h"

namespace pinion::metrics {

struct CollectorOptions {
  std::string root;  // directory that holds the machine's proc/: "" or "/" for this machine
  Readers readers;
  std::vector<EventAvailability> events;  // what the probe found, shown in every sample
  // Finished containers stay this long: longer than the usual time between two scrapes.
  std::int64_t linger_ns = 90'000'000'000;
  std::size_t max_finished = 1000;  // the oldest go first
};

class Collector {
 public:
  explicit Collector(CollectorOptions options);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Reads what is due. Containers that are no longer among the targets are finished: their last
  // figures stay for a while, or until another container of the same name has come.
  [[nodiscard]] Sample pass(const std::vector<Target>& targets);

 private:
  struct Finished {
    ContainerFigures figures;
    std::int64_t since = 0;  // steady_ns
  };

  void follow(const std::vector<Target>& targets, std::int64_t now);
  [[nodiscard]] BusyTimes read_busy(Faults& faults) const;
  void drop_finished(std::int64_t now);
  [[nodiscard]] std::vector<ContainerFigures> gather() const;

  CollectorOptions options_;
  std::uint64_t passes_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t reopened_ = 0;  // of containers that are gone
  Faults faults_;
  std::map<std::string, Tracked, std::less<>> tracked_;  // by container id
  std::vector<Finished> finished_;                       // oldest first
};

}  // namespace pinion::metrics
