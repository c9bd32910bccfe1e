// CPUs that go offline and come back while the agent runs.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "topology/discover/discover.h"
#include "topology/reserved_memory.h"

namespace pinion::agent {

class MachineWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Nothing for a source that is no running kernel's.
  static std::optional<MachineWatch> of(const topology::Source& source,
                                        topology::ReservedMemory reserved);
  // `online_file`: the kernel's list of online CPUs, of the machine at `source`.
  MachineWatch(topology::Source source, std::string online_file, topology::ReservedMemory reserved);

  // The machine as it is now, without its reserved memory, where the list has changed since the
  // last look; nothing where it has not, or the last look was less than a second ago. Errors: as
  // topology::discover; the next look tries again.
  std::optional<Result<topology::Topology>> look(TimePoint now);
  [[nodiscard]] TimePoint next_look() const { return next_; }

 private:
  [[nodiscard]] std::string read_list() const;

  topology::Source source_;
  std::string online_file_;
  topology::ReservedMemory reserved_;
  std::string seen_;
  TimePoint next_;
};

}  // namespace pinion::agent
