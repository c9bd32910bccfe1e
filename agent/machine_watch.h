// CPUs that go offline and come back while the agent runs.
#pragma once

#include <chrono>
#include <future>
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

  // The machine as it is now, without its reserved memory, where the list has changed. It is looked
  // at once a second, and read, which can take long, on another thread: the answer comes with a
  // later call. Errors: as topology::discover; the next look tries again.
  std::optional<Result<topology::Topology>> look(TimePoint now);
  // When to call look() while the machine is read; nothing otherwise.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

 private:
  [[nodiscard]] std::string read_list() const;

  topology::Source source_;
  std::string online_file_;
  topology::ReservedMemory reserved_;
  std::string seen_;
  TimePoint next_;
  std::string reading_;  // the list for which the machine is read
  std::future<Result<topology::Topology>> machine_;
};

}  // namespace pinion::agent
