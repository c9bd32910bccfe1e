// Every family that Pinion exports, in one table: what the exposition writes and what
// docs/metrics.md lists (a test compares the two). A new series is a line here, a line there, and a
// writer.family() in agent/http.
//
// Names follow Prometheus's conventions: base units, `_total` for counters, `_info` for facts whose
// value is always 1.
#pragma once

#include <cstddef>
#include <string_view>

namespace pinion::prometheus {

enum class Type { kCounter, kGauge, kHistogram, kInfo };
[[nodiscard]] std::string_view to_string(Type type);  // "counter", "gauge", "histogram", "info"

// What it costs to have the figure, cheapest first. docs/metrics.md says how much that is.
enum class Cost {
  kNone,          // the agent knows it anyway
  kScrape,        // computed at each scrape
  kCgroupFile,    // a small file of each container's cgroup, read once a pass
  kTasks,         // files of each thread, read once a pass
  kPerfSoftware,  // a descriptor for each container and CPU that it may use
  kPerfHardware,  // the same, and a counter of the CPU while the container runs
};
// "none", "scrape", "cgroup file", "tasks", "perf software", "perf hardware"
[[nodiscard]] std::string_view to_string(Cost cost);

// In the order in which they are written.
enum class Metric {
  // Containers.
  kContainerInfo,
  kContainerExclusiveCpus,
  kContainerBorrowedCpus,
  kContainerMisplaced,
  kCpuSeconds,
  kTaskClockSeconds,
  kCfsPeriods,
  kThrottledPeriods,
  kThrottledSeconds,
  kRunQueueWaitSeconds,
  kContextSwitches,
  kVoluntarySwitches,
  kInvoluntarySwitches,
  kMigrations,
  kPageFaults,
  kThreads,
  kMemoryBytes,
  kMemoryPromisedBytes,
  kMemoryPressureSeconds,
  kCpuPressureSeconds,
  kIntrusionSeconds,
  kCycles,
  kInstructions,
  kL3Misses,
  kMemoryAccesses,
  kPerfRunningRatio,
  // The machine and the room in it.
  kNumaCapacity,
  kNumaAllocatable,
  kNumaReserved,
  kNumaExclusive,
  kNumaFree,
  kL3Capacity,
  kL3Allocatable,
  kL3Reserved,
  kL3Exclusive,
  kL3Free,
  kNumaMemory,
  kNumaMemoryPromised,
  kSharedCpus,
  kSharedMemory,
  kLargestRequest,
  // Placement.
  kContainers,
  kContainersMisplaced,
  kContainersNotLent,
  kPlaced,
  kRefusals,
  kPreferredNotMet,
  kResizes,
  kRanksKept,
  kRanksMoved,
  kUnplaced,
  kAdopted,
  kLostStops,
  kLate,
  kDrift,
  kRepairs,
  kWriteFailures,
  kPartitionsMade,
  kPartitionsFailed,
  kQosGroupsLost,
  kMachineChanges,
  kSynchronized,
  kGeneration,
  kFenceInfo,
  kNoiseIrqs,
  kNoiseCorrections,
  kNoiseErrors,
  // The runtime.
  kRuntimeInfo,
  kRuntimeConnected,
  kNriCalls,
  kNriErrors,
  kNriDuration,
  kNriReceivedBytes,
  kNriSentBytes,
  kNriUpdates,
  kNriUpdatesDropped,
  kNriIgnored,
  kNriUnknown,
  kRuntimeConnects,
  kRuntimeConnectFailures,
  kRuntimeSessionsFailed,
  kRuntimeSynchronizations,
  kRuntimeResyncs,
  // Counting and telling.
  kPerfEventInfo,
  kCollectorPasses,
  kCollectorPassTime,
  kCollectorPassSeconds,
  kCollectorCpuSeconds,
  kCollectorDescriptors,
  kCollectorReopened,
  kCollectorVanished,
  kCollectorErrors,
  kScrapes,
  kScrapeSeconds,
  kScrapeBytes,
  kListenerConnections,
  kListenerAccepted,
  kListenerClosed,
  kListenerShortages,
  kAgentStartTime,
  kAgentCpuSeconds,
  kAgentResidentBytes,
  kBuildInfo,
  kEnd,  // not a series: how many there are
};
inline constexpr std::size_t kMetrics = static_cast<std::size_t>(Metric::kEnd);

struct Series {
  Metric id = Metric::kEnd;
  // As in text format 0.0.4: counters with "_total", info with "_info".
  std::string_view name;
  Type type = Type::kGauge;
  // The last word of the name without those endings where it is a unit ("seconds"), else what is
  // counted ("switches").
  std::string_view unit;
  std::string_view labels;  // "mode", besides namespace, pod and container where it has those
  std::string_view help;    // one line
  std::string_view source;
  Cost cost = Cost::kNone;
};

[[nodiscard]] const Series& series(Metric metric);
// One of another program, which has a table of its own: without id, source and cost.
[[nodiscard]] Series series(Type type, std::string_view name, std::string_view unit,
                            std::string_view labels, std::string_view help);

// The name without "_total" of a counter and without "_info": what OpenMetrics calls the family.
[[nodiscard]] std::string_view family_name(const Series& series);

}  // namespace pinion::prometheus
