// One container between two passes: its open perf events, the sums over its tasks, and its figures
// so far. Not pure: reads cgroup files, /proc and perf, each behind the readers that it is given.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "metrics/cgroup_files.h"
#include "metrics/collect/intrusion.h"
#include "metrics/figures.h"
#include "metrics/perf/container_counters.h"
#include "metrics/task_scan.h"
#include "metrics/task_totals.h"

namespace pinion::metrics {

// A container to be measured.
struct Target {
  std::shared_ptr<const Identity> who;
  std::string cgroup;     // its path below the hierarchies' mounts: "/kubepods/pod1/id"
  topology::CpuSet cpus;  // that it may use
  bool exclusive = false;
  bool fresh = false;  // it was started while the agent watched
};

// What all containers of one collector are read with.
struct Readers {
  cgroup::Mounts mounts;
  perf::PerfSyscalls* perf = nullptr;  // nullptr: perf is off
  perf::EventSet events;               // that this machine counts
  bool count_shared = false;           // perf for shared containers too
  std::optional<TaskScanner> tasks;    // not set: no /proc to read
  SmallFile scratch;
};

// A clock of each CPU, in nanoseconds since some fixed moment.
using CpuClocks = std::map<topology::CpuId, std::uint64_t>;

// How long each online CPU was not idle. Time that the hypervisor gave to somebody else is in the
// container's own time as perf counts it, and not in it as the scheduler does.
struct BusyTimes {
  CpuClocks with_stolen;
  CpuClocks without_stolen;
};

// What went wrong in a reading, for the collector's own figures.
struct Faults {
  std::uint64_t vanished = 0;
  std::uint64_t errors = 0;
  std::string last_error;

  void add(const Error& error);
};

// A counter whose source may change under it (perf for a container with cores of its own, its
// tasks' sums for another): what one source has counted stays, the next one goes on from there.
class Spliced {
 public:
  std::uint64_t update(int source, std::uint64_t raw);

 private:
  std::optional<int> source_;
  std::uint64_t base_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t last_ = 0;
};

class Tracked {
 public:
  // `number` spreads the containers over passes. `mounts` must outlive it.
  Tracked(const Target& target, std::uint64_t number, const cgroup::Mounts& mounts);

  // What has changed about it.
  void retarget(const Target& target);

  // Opens and closes its events as it now stands, and takes their counts. `busy` was read just
  // before: the two clocks of a core are compared.
  void read_events(const BusyTimes& busy, Readers& readers, Faults& faults);

  // Reads of the rest what is due in this pass: everything in its first one.
  void read_files(std::uint64_t pass, Readers& readers, Faults& faults);

  [[nodiscard]] const ContainerFigures& figures() const { return figures_; }
  [[nodiscard]] ContainerFigures& figures() { return figures_; }
  [[nodiscard]] const Target& target() const { return target_; }
  // Its cores' times are needed for read_events().
  [[nodiscard]] bool wants_busy() const { return target_.exclusive; }
  [[nodiscard]] std::size_t descriptors() const;  // open perf events
  [[nodiscard]] std::uint64_t reopened() const;
  // Takes the last counts and closes its events; its figures stay.
  void finish();

 private:
  // When a source was read last; 0: never.
  struct Moments {
    std::int64_t perf = 0;
    std::int64_t cgroup = 0;
    std::int64_t tasks = 0;
  };

  [[nodiscard]] bool counts_by_perf(const Readers& readers) const;
  void open(Readers& readers, Faults& faults);
  void take_counts();
  [[nodiscard]] CpuClocks own_by_perf() const;
  [[nodiscard]] CpuClocks own_by_cgroup(Readers& readers);
  void take_intrusion(const CpuClocks& busy, const CpuClocks& own);
  void read_cgroup(Readers& readers, Faults& faults);
  void read_tasks(Readers& readers, Faults& faults);
  void take(Event event, int source, std::uint64_t raw, double running);

  Target target_;
  std::uint64_t number_;
  CgroupReader files_;
  bool tried_ = false;  // to open its events
  std::unique_ptr<perf::ContainerCounters> counters_;
  std::uint64_t reopened_before_ = 0;
  std::array<Spliced, kEvents> spliced_;
  TaskTotals totals_;
  Intrusion intrusion_;
  Moments read_;
  ContainerFigures figures_;
};

}  // namespace pinion::metrics
