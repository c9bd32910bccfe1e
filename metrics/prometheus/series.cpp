#include "metrics/prometheus/series.h"

#include <array>

namespace pinion::prometheus {
namespace {

using enum Type;
using enum Cost;

// What several series come from.
constexpr std::string_view kKernelNoise = "/proc/irq, workqueues";
constexpr std::string_view kEngine = "the agent's own count";
constexpr std::string_view kWire = "the NRI connection";
constexpr std::string_view kSets = "the agent's sets of CPUs";
constexpr std::string_view kItself = "the collector's own count";

// Labels: "*" stands for namespace, pod, container.
constexpr std::array<Series, kMetrics> kTable{{
    // --- containers ---
    {Metric::kContainerInfo, "pinion_container_info", kInfo, "",
     "*, job, task_group, profile, cpuset, numa_node, exclusive, qos",
     "Who the container is and where it runs; to be joined to other series.",
     "pod annotations, placement", kNone},
    {Metric::kContainerExclusiveCpus, "pinion_container_exclusive_cpus", kGauge, "cpus", "*",
     "CPUs that the container runs on alone; only of exclusive containers whose cores are not "
     "lent.",
     "placement", kNone},
    {Metric::kContainerBorrowedCpus, "pinion_container_borrowed_cpus", kGauge, "cpus", "*",
     "Exclusive CPUs of other containers that are lent to the container.", "placement", kNone},
    {Metric::kContainerMisplaced, "pinion_container_misplaced", kGauge, "0 or 1", "*",
     "Whether something is not as decided: cpuset file wrong, no cores found, write failed.",
     "placement, cpuset.cpus", kNone},
    {Metric::kCpuSeconds, "pinion_container_cpu_seconds_total", kCounter, "seconds", "*, mode",
     "CPU time of the container in mode user or system.", "cpu.stat (v2), cpuacct.usage_* (v1)",
     kCgroupFile},
    {Metric::kTaskClockSeconds, "pinion_container_task_clock_seconds_total", kCounter, "seconds",
     "*", "CPU time of the container on its CPUs, as perf saw it.", "perf task-clock",
     kPerfSoftware},
    {Metric::kCfsPeriods, "pinion_container_cfs_periods_total", kCounter, "periods", "*",
     "Periods of the CPU quota in which the container wanted to run.", "cpu.stat nr_periods",
     kCgroupFile},
    {Metric::kThrottledPeriods, "pinion_container_throttled_periods_total", kCounter, "periods",
     "*", "Periods in which the CPU quota ran out.", "cpu.stat nr_throttled", kCgroupFile},
    {Metric::kThrottledSeconds, "pinion_container_throttled_seconds_total", kCounter, "seconds",
     "*", "Time that the container was held back by its CPU quota.",
     "cpu.stat throttled_usec (v2), throttled_time (v1)", kCgroupFile},
    {Metric::kRunQueueWaitSeconds, "pinion_container_run_queue_wait_seconds_total", kCounter,
     "seconds", "*", "Time that threads were ready to run and waited for a CPU, summed.",
     "/proc/TID/schedstat", kTasks},
    {Metric::kContextSwitches, "pinion_container_context_switches_total", kCounter, "switches", "*",
     "Context switches away from threads of the container.",
     "perf context-switches; without perf /proc/TID/status", kPerfSoftware},
    {Metric::kVoluntarySwitches, "pinion_container_voluntary_switches_total", kCounter, "switches",
     "*", "Context switches because a thread waited for something.", "/proc/TID/status", kTasks},
    {Metric::kInvoluntarySwitches, "pinion_container_involuntary_switches_total", kCounter,
     "switches", "*", "Context switches because a thread was made to yield its CPU.",
     "/proc/TID/status", kTasks},
    {Metric::kMigrations, "pinion_container_cpu_migrations_total", kCounter, "migrations", "*",
     "Moves of a thread to another CPU.", "perf cpu-migrations; without perf /proc/TID/sched",
     kPerfSoftware},
    {Metric::kPageFaults, "pinion_container_page_faults_total", kCounter, "faults", "*",
     "Page faults, minor and major.", "perf page-faults", kPerfSoftware},
    {Metric::kThreads, "pinion_container_threads", kGauge, "threads", "*",
     "Threads of the container now.", "pids.current; without it the list of threads", kCgroupFile},
    {Metric::kMemoryBytes, "pinion_container_memory_bytes", kGauge, "bytes", "*, numa_node",
     "Memory of the container that lies on the NUMA node now.", "memory.numa_stat", kCgroupFile},
    {Metric::kMemoryPromisedBytes, "pinion_container_memory_promised_bytes", kGauge, "bytes",
     "*, numa_node", "Memory of the NUMA node that is set aside for the container.", "placement",
     kNone},
    {Metric::kMemoryPressureSeconds, "pinion_container_memory_pressure_seconds_total", kCounter,
     "seconds", "*, kind", "Time in which some, or all (full), threads waited for memory.",
     "memory.pressure (v2)", kCgroupFile},
    {Metric::kCpuPressureSeconds, "pinion_container_cpu_pressure_seconds_total", kCounter,
     "seconds", "*, kind", "Time in which some thread waited for a CPU.", "cpu.pressure (v2)",
     kCgroupFile},
    {Metric::kIntrusionSeconds, "pinion_container_core_intrusion_seconds_total", kCounter,
     "seconds", "*", "Time that the container's own cores ran anything else.",
     "/proc/stat; perf task-clock or cpuacct.usage_percpu (v1)", kPerfSoftware},
    {Metric::kCycles, "pinion_container_cycles_total", kCounter, "cycles", "*",
     "CPU cycles spent in the container.", "perf, see metrics/perf", kPerfHardware},
    {Metric::kInstructions, "pinion_container_instructions_total", kCounter, "instructions", "*",
     "Instructions retired in the container.", "perf, see metrics/perf", kPerfHardware},
    {Metric::kL3Misses, "pinion_container_l3_misses_total", kCounter, "misses", "*",
     "Accesses that the L3 cache could not serve.", "perf, see metrics/perf", kPerfHardware},
    {Metric::kMemoryAccesses, "pinion_container_memory_accesses_total", kCounter, "accesses",
     "*, locality", "Accesses served by memory of this NUMA node (local) or another (remote).",
     "perf, see metrics/perf", kPerfHardware},
    {Metric::kPerfRunningRatio, "pinion_container_perf_running_ratio", kGauge, "ratio", "*, event",
     "Share of its time that the event was counted; below 1 the counter is scaled up.",
     "perf time_running / time_enabled", kPerfHardware},
    // --- the machine and the room in it ---
    {Metric::kNumaCapacity, "pinion_numa_capacity_cpus", kGauge, "cpus", "numa_node",
     "Online CPUs of the NUMA node.", kSets, kNone},
    {Metric::kNumaAllocatable, "pinion_numa_allocatable_cpus", kGauge, "cpus", "numa_node",
     "CPUs of the NUMA node that are not reserved.", kSets, kNone},
    {Metric::kNumaReserved, "pinion_numa_reserved_cpus", kGauge, "cpus", "numa_node",
     "CPUs of the NUMA node that no container gets alone.", kSets, kNone},
    {Metric::kNumaExclusive, "pinion_numa_exclusive_cpus", kGauge, "cpus", "numa_node",
     "CPUs of the NUMA node that one container holds alone.", kSets, kNone},
    {Metric::kNumaFree, "pinion_numa_free_cpus", kGauge, "cpus", "numa_node",
     "CPUs of the NUMA node that are neither reserved nor held.", kSets, kNone},
    {Metric::kL3Capacity, "pinion_l3_capacity_cpus", kGauge, "cpus", "numa_node, l3",
     "Online CPUs behind the L3.", kSets, kNone},
    {Metric::kL3Allocatable, "pinion_l3_allocatable_cpus", kGauge, "cpus", "numa_node, l3",
     "CPUs behind the L3 that are not reserved.", kSets, kNone},
    {Metric::kL3Reserved, "pinion_l3_reserved_cpus", kGauge, "cpus", "numa_node, l3",
     "CPUs behind the L3 that no container gets alone.", kSets, kNone},
    {Metric::kL3Exclusive, "pinion_l3_exclusive_cpus", kGauge, "cpus", "numa_node, l3",
     "CPUs behind the L3 that one container holds alone.", kSets, kNone},
    {Metric::kL3Free, "pinion_l3_free_cpus", kGauge, "cpus", "numa_node, l3",
     "CPUs behind the L3 that are neither reserved nor held.", kSets, kNone},
    {Metric::kNumaMemory, "pinion_numa_memory_bytes", kGauge, "bytes", "numa_node",
     "Memory of the NUMA node that containers can be bound to: without reservedMemory.",
     "the machine's topology", kNone},
    {Metric::kNumaMemoryPromised, "pinion_numa_memory_promised_bytes", kGauge, "bytes", "numa_node",
     "Memory of the NUMA node that is set aside for containers with cores of their own.", kSets,
     kNone},
    {Metric::kSharedCpus, "pinion_shared_cpus", kGauge, "cpus", "",
     "CPUs that all containers without cores of their own share.", kSets, kNone},
    {Metric::kSharedMemory, "pinion_shared_memory_requested_bytes", kGauge, "bytes", "",
     "Memory that containers without cores of their own request, as far as the runtime is told.",
     "the runtime's record of them", kNone},
    {Metric::kLargestRequest, "pinion_largest_request_cpus", kGauge, "cpus", "align",
     "Most CPUs that one container could get now inside one domain: l3, numa, socket, none.",
     "the allocator", kScrape},
    // --- placement ---
    {Metric::kContainers, "pinion_containers", kGauge, "containers", "kind",
     "Containers of the node, exclusive or shared.", kEngine, kNone},
    {Metric::kContainersMisplaced, "pinion_containers_misplaced", kGauge, "containers", "",
     "Containers with which something is not as decided.", kEngine, kNone},
    {Metric::kContainersNotLent, "pinion_containers_not_lent", kGauge, "containers", "reason",
     "Containers that would lend their cores and do not, by reason.", kEngine, kNone},
    {Metric::kPlaced, "pinion_placements_total", kCounter, "containers", "kind",
     "Containers placed, exclusive or shared.", kEngine, kNone},
    {Metric::kRefusals, "pinion_refusals_total", kCounter, "refusals", "reason",
     "Containers refused, by reason.", kEngine, kNone},
    {Metric::kPreferredNotMet, "pinion_preferred_not_met_total", kCounter, "containers", "",
     "Containers placed in a wider domain than they prefer.", kEngine, kNone},
    {Metric::kResizes, "pinion_resizes_total", kCounter, "containers", "",
     "Containers that were given more or fewer cores while they ran.", kEngine, kNone},
    {Metric::kRanksKept, "pinion_ranks_kept_total", kCounter, "containers", "",
     "Exclusive containers that kept their cores when the agent synchronized.", kEngine, kNone},
    {Metric::kRanksMoved, "pinion_ranks_moved_total", kCounter, "containers", "",
     "Exclusive containers that could not keep their cores and were given others.", kEngine, kNone},
    {Metric::kUnplaced, "pinion_unplaced_total", kCounter, "containers", "",
     "Running containers that are entitled to cores and found none.", kEngine, kNone},
    {Metric::kAdopted, "pinion_adopted_total", kCounter, "containers", "",
     "Containers first heard of after they were made.", kEngine, kNone},
    {Metric::kLostStops, "pinion_lost_stops_total", kCounter, "containers", "",
     "Containers found gone that nobody had reported stopped.", kEngine, kNone},
    {Metric::kLate, "pinion_late_cpusets_total", kCounter, "files", "",
     "Cpuset files that were not as told when their container started.", kEngine, kNone},
    {Metric::kDrift, "pinion_drift_total", kCounter, "files", "",
     "Cpuset and CPU quota files that somebody else has changed.", kEngine, kNone},
    {Metric::kRepairs, "pinion_repairs_total", kCounter, "files", "",
     "Cpuset and CPU quota files that the agent has put right again.", kEngine, kNone},
    {Metric::kWriteFailures, "pinion_write_failures_total", kCounter, "files", "",
     "Cpuset files that could not be written.", kEngine, kNone},
    {Metric::kPartitionsMade, "pinion_partitions_made_total", kCounter, "partitions", "",
     "Cpuset partitions made for exclusive containers.", kEngine, kNone},
    {Metric::kPartitionsFailed, "pinion_partitions_failed_total", kCounter, "containers", "",
     "Exclusive containers without a partition where the fence makes them: others are kept off by "
     "their own files.",
     kEngine, kNone},
    {Metric::kQosGroupsLost, "pinion_qos_groups_lost_total", kCounter, "groups", "",
     "Groups of a QoS class that could not be kept narrow where the fence does that: their "
     "containers are kept off by their own files.",
     kEngine, kNone},
    {Metric::kMachineChanges, "pinion_machine_changes_total", kCounter, "changes", "",
     "Times that CPUs were seen to go offline or come back.", kEngine, kNone},
    {Metric::kSynchronized, "pinion_synchronized", kGauge, "0 or 1", "",
     "Whether the agent knows all containers of the runtime, which is connected.", kEngine, kNone},
    {Metric::kGeneration, "pinion_generation", kGauge, "changes", "",
     "Number of the placement shown; grows with every change, starts anew with the agent.", kEngine,
     kNone},
    {Metric::kFenceInfo, "pinion_fence_info", kInfo, "",
     "fence, weakened, compares_files, strict_cpu_reservation",
     "How other containers are kept off exclusive cores; weakened: the machine allows a stronger "
     "fence, and the agent lacks the rights for it.",
     "configuration and a probe at start", kNone},
    {Metric::kNoiseIrqs, "pinion_kernel_noise_irqs", kGauge, "interrupts", "state",
     "Interrupts moved off exclusive CPUs, and those kept_by_kernel on them; only with "
     "kernelNoise.",
     kKernelNoise, kNone},
    {Metric::kNoiseCorrections, "pinion_kernel_noise_corrections_total", kCounter, "settings", "",
     "Settings of the kernel written again because somebody else had undone them; only with "
     "kernelNoise.",
     kKernelNoise, kNone},
    {Metric::kNoiseErrors, "pinion_kernel_noise_errors_total", kCounter, "settings", "",
     "Settings of the kernel that could not be read or written; only with kernelNoise.",
     kKernelNoise, kNone},
    // --- the runtime ---
    {Metric::kRuntimeInfo, "pinion_runtime_info", kInfo, "", "name, version",
     "The container runtime.", kWire, kNone},
    {Metric::kRuntimeConnected, "pinion_runtime_connected", kGauge, "0 or 1", "",
     "Whether the runtime asks the agent before it makes a container.", kWire, kNone},
    {Metric::kNriCalls, "pinion_nri_calls_total", kCounter, "calls", "method",
     "Calls of the runtime.", kWire, kNone},
    {Metric::kNriErrors, "pinion_nri_errors_total", kCounter, "calls", "method",
     "Calls answered with an error, refusals included.", kWire, kNone},
    {Metric::kNriDuration, "pinion_nri_call_duration_seconds", kHistogram, "seconds", "method",
     "Time from a call of the runtime to the agent's answer.", "the agent's clock", kNone},
    {Metric::kNriReceivedBytes, "pinion_nri_received_bytes_total", kCounter, "bytes", "",
     "Bytes received from the runtime.", kWire, kNone},
    {Metric::kNriSentBytes, "pinion_nri_sent_bytes_total", kCounter, "bytes", "",
     "Bytes sent to the runtime.", kWire, kNone},
    {Metric::kNriUpdates, "pinion_nri_updates_total", kCounter, "updates", "",
     "Updates of other containers put into answers.", kWire, kNone},
    {Metric::kNriUpdatesDropped, "pinion_nri_updates_dropped_total", kCounter, "updates", "",
     "Updates left out: empty, doubled, or in an answer that cannot carry them.", kWire, kNone},
    {Metric::kNriIgnored, "pinion_nri_ignored_messages_total", kCounter, "messages", "",
     "Messages of the runtime that the agent skipped.", kWire, kNone},
    {Metric::kNriUnknown, "pinion_nri_unknown_methods_total", kCounter, "calls", "",
     "Calls of methods that the agent does not know.", kWire, kNone},
    {Metric::kRuntimeConnects, "pinion_runtime_connects_total", kCounter, "connections", "",
     "Connections opened to the runtime.", kWire, kNone},
    {Metric::kRuntimeConnectFailures, "pinion_runtime_connect_failures_total", kCounter, "attempts",
     "", "Attempts to connect to the runtime that failed.", kWire, kNone},
    {Metric::kRuntimeSessionsFailed, "pinion_runtime_sessions_failed_total", kCounter, "sessions",
     "", "Sessions that ended without the agent's will.", kWire, kNone},
    {Metric::kRuntimeSynchronizations, "pinion_runtime_synchronizations_total", kCounter,
     "sessions", "", "Sessions in which the runtime listed its containers.", kWire, kNone},
    {Metric::kRuntimeResyncs, "pinion_runtime_resyncs_total", kCounter, "sessions", "",
     "Sessions that the agent ended to be told all containers anew.", kWire, kNone},
    // --- counting and telling ---
    {Metric::kPerfEventInfo, "pinion_perf_event_info", kInfo, "", "event, availability",
     "Whether this machine counts the event, or why not.", "a probe at start", kNone},
    {Metric::kCollectorPasses, "pinion_collector_passes_total", kCounter, "passes", "",
     "Times that all containers were measured.", kItself, kNone},
    {Metric::kCollectorPassTime, "pinion_collector_last_pass_timestamp_seconds", kGauge, "seconds",
     "", "When the figures shown were measured, in Unix time.", kItself, kNone},
    {Metric::kCollectorPassSeconds, "pinion_collector_last_pass_seconds", kGauge, "seconds", "",
     "How long the last pass took.", kItself, kNone},
    {Metric::kCollectorCpuSeconds, "pinion_collector_cpu_seconds_total", kCounter, "seconds", "",
     "CPU time of the measuring thread.", kItself, kNone},
    {Metric::kCollectorDescriptors, "pinion_collector_perf_descriptors", kGauge, "descriptors", "",
     "Open perf events.", kItself, kNone},
    {Metric::kCollectorReopened, "pinion_collector_reopened_total", kCounter, "groups", "",
     "Groups of perf events opened anew because a container got other CPUs.", kItself, kNone},
    {Metric::kCollectorVanished, "pinion_collector_vanished_total", kCounter, "containers", "",
     "Containers that went away while they were measured.", kItself, kNone},
    {Metric::kCollectorErrors, "pinion_collector_errors_total", kCounter, "errors", "",
     "Readings that failed for another reason.", kItself, kNone},
    {Metric::kScrapes, "pinion_scrapes_total", kCounter, "scrapes", "", "Scrapes answered.",
     "the HTTP server", kNone},
    {Metric::kScrapeSeconds, "pinion_scrape_duration_seconds", kGauge, "seconds", "",
     "How long the agent worked for the scrape before this one.", "the HTTP server", kNone},
    {Metric::kScrapeBytes, "pinion_scrape_size_bytes", kGauge, "bytes", "",
     "Size of the answer to the scrape before this one, not compressed.", "the HTTP server", kNone},
    {Metric::kListenerConnections, "pinion_listener_connections", kGauge, "connections", "listener",
     "Connections that are open: api, metrics, probe.", "the listeners", kNone},
    {Metric::kListenerAccepted, "pinion_listener_accepted_total", kCounter, "connections",
     "listener", "Connections taken.", "the listeners", kNone},
    {Metric::kListenerClosed, "pinion_listener_closed_total", kCounter, "connections",
     "listener, why",
     "Connections that the agent closed: for others that came (room), because no request came or "
     "no answer was read in time (slow), or for what was no handshake (garbage).",
     "the listeners", kNone},
    {Metric::kListenerShortages, "pinion_listener_shortages_total", kCounter, "connections",
     "listener", "Times that no descriptor or memory was left for a connection.", "the listeners",
     kNone},
    {Metric::kAgentStartTime, "pinion_agent_start_time_seconds", kGauge, "seconds", "",
     "When the agent started, in Unix time.", "the agent's clock", kNone},
    {Metric::kAgentCpuSeconds, "pinion_agent_cpu_seconds_total", kCounter, "seconds", "",
     "CPU time of the agent.", "getrusage", kScrape},
    {Metric::kAgentResidentBytes, "pinion_agent_resident_memory_bytes", kGauge, "bytes", "",
     "Memory of the agent.", "/proc/self/statm", kScrape},
    {Metric::kBuildInfo, "pinion_build_info", kInfo, "", "version", "The agent's version.",
     "the build", kNone},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (kTable[i].id != static_cast<Metric>(i)) return false;
  }
  return true;
}
static_assert(in_order(), "the table and enum Metric list the series in different order");

}  // namespace

std::string_view to_string(Type type) {
  switch (type) {
    case kCounter:
      return "counter";
    case kGauge:
      return "gauge";
    case kHistogram:
      return "histogram";
    case kInfo:
      return "info";
  }
  return "";
}

std::string_view to_string(Cost cost) {
  switch (cost) {
    case kNone:
      return "none";
    case kScrape:
      return "scrape";
    case kCgroupFile:
      return "cgroup file";
    case kTasks:
      return "tasks";
    case kPerfSoftware:
      return "perf software";
    case kPerfHardware:
      return "perf hardware";
  }
  return "";
}

const Series& series(Metric metric) {
  return kTable[static_cast<std::size_t>(metric)];
}

Series series(Type type, std::string_view name, std::string_view unit, std::string_view labels,
              std::string_view help) {
  Series made;
  made.name = name;
  made.type = type;
  made.unit = unit;
  made.labels = labels;
  made.help = help;
  return made;
}

std::string_view family_name(const Series& series) {
  std::string_view name = series.name;
  if (series.type == kCounter) name.remove_suffix(std::string_view("_total").size());
  if (series.type == kInfo) name.remove_suffix(std::string_view("_info").size());
  return name;
}

}  // namespace pinion::prometheus
