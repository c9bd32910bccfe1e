// CPUs that go offline and come back while the agent runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "agent/engine/events.h"
#include "topology/discover/discover.h"
#include "topology/reserved_memory.h"

namespace pinion::agent {

class MachineWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Nothing for a source that is no running kernel's.
  static std::optional<MachineWatch> of(const topology::Source& source,
                                        topology::ReservedMemory reserved);
  // `cpu_folder`: the kernel's /sys/devices/system/cpu, of the machine at `source`.
  MachineWatch(topology::Source source, std::string cpu_folder, topology::ReservedMemory reserved);

  // The machine as it is now, without its reserved memory, where a CPU went or came, also where it
  // was away for a moment only. It is looked at once a second, and read, which can take long, on
  // another thread, which ends with this: the answer comes with a later call. Errors: as
  // topology::discover; the next look tries again.
  std::optional<Result<engine::MachineChanged>> look(TimePoint now);
  // When to call look() while the machine is read; nothing otherwise.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

 private:
  // The online CPUs, each with the inode of its folder `topology`: the kernel takes that away with
  // the CPU, and makes another when it is back.
  using Cpus = std::map<int, std::uint64_t>;
  // Empty where the kernel's list cannot be read.
  [[nodiscard]] Cpus read_cpus() const;

  topology::Source source_;
  std::string cpu_folder_;
  topology::ReservedMemory reserved_;
  Cpus seen_;
  TimePoint next_;
  Cpus reading_;  // those for which the machine is read
  std::future<Result<topology::Topology>> machine_;
  std::jthread reader_;
};

}  // namespace pinion::agent
