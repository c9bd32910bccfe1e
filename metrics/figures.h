// What was measured, as values: one Sample for each pass of the collector. Everything that shows
// figures (Prometheus, gRPC, the page) reads a Sample and nothing else.
//
// A counter here never goes back within one life of the agent, whatever happens below it: groups
// that are opened anew, a container that moves, tasks that end. What cannot be measured is not set;
// it is never zero instead.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/cpuset.h"

namespace pinion::metrics {

// What perf counts. The first four are software events: they need no PMU.
enum class Event {
  kContextSwitches,
  kMigrations,
  kPageFaults,
  kTaskClock,  // nanoseconds
  kCycles,
  kInstructions,
  kL3Misses,    // see event_table.h for what that is on which CPU
  kLocalDram,   // memory accesses served by this NUMA node's memory
  kRemoteDram,  // by another node's
};
inline constexpr std::size_t kEvents = 9;
inline constexpr std::size_t kSoftwareEvents = 4;
// "context-switches", "l3-misses" ...
[[nodiscard]] std::string_view to_string(Event event);

// Why an event is not counted on this machine, or that it is.
enum class Availability {
  kCounted,
  kNotSupported,  // the PMU or this CPU model has no such event
  kNotPermitted,  // perf_event_paranoid, no CAP_PERFMON, seccomp
  kNoSuchPmu,     // no hardware PMU at all (many guests)
  kNoDescriptor,  // RLIMIT_NOFILE is too small
  kOff,           // by configuration
};
// "counted", "not supported", "not permitted", "no such PMU", "no descriptor", "off".
[[nodiscard]] std::string_view to_string(Availability availability);

struct EventAvailability {
  Event event = Event::kCycles;
  Availability availability = Availability::kOff;
  std::string detail;  // for a human: the encoding counted, or the error and what would help
};

// A counted event. `running` <= 1 is the share of its time that the event was on the PMU; `value`
// is already scaled by it. 1 for software events.
struct Count {
  std::uint64_t value = 0;
  double running = 1;

  bool operator==(const Count&) const = default;
};

struct NodeMemory {
  topology::NodeId node = 0;
  std::uint64_t bytes = 0;

  bool operator==(const NodeMemory&) const = default;
};

// Who a container is, as its series are labelled. Immutable and shared between samples.
struct Identity {
  std::string id;  // the runtime's
  std::string name_space;
  std::string pod;
  std::string container;
  std::string job;  // these three: empty when the pod does not say
  std::string task_group;
  std::string profile;
  bool exclusive = false;
  std::string cpus;   // kernel list: what it was given
  std::string mems;   // NUMA nodes that those CPUs lie in
  std::string qos{};  // QoS class of its pod, as Kubernetes writes it

  bool operator==(const Identity&) const = default;
};

// Over the time between the last two readings of each source: a second or so for what is read in
// each pass, ten for what is read less often. Not set: cannot be counted, or not read twice yet.
struct Rates {
  std::optional<double> cpus;  // CPU seconds for each second
  std::optional<double> instructions_per_cycle;
  std::optional<double> l3_misses_per_second;
  std::optional<double> l3_misses_per_kilo_instruction;
  std::optional<double> migrations_per_second;
  std::optional<double> switches_per_second;
  std::optional<double> involuntary_per_second;
  std::optional<double> remote_share;  // 0..1, of its memory accesses; where these are not counted,
                                       // of its resident memory: what lies off its CPUs' nodes
  std::optional<double> intrusion_share;  // 0..1, of its cores' time
  std::optional<double> wait_share;       // seconds waiting for a CPU for each second, all tasks
  std::optional<double> throttled_share;  // 0..1, of its quota periods

  bool operator==(const Rates&) const = default;
};

struct ContainerFigures {
  std::shared_ptr<const Identity> who;
  bool finished = false;  // gone; its last values are shown for a while

  std::array<std::optional<Count>, kEvents> events{};

  // From the cgroup, since the container was made.
  std::optional<std::uint64_t> cpu_ns;       // exact
  std::optional<std::uint64_t> cpu_user_ns;  // these two as the ticks fell
  std::optional<std::uint64_t> cpu_system_ns;
  std::optional<std::uint64_t> periods;            // of the CPU quota, with runnable tasks
  std::optional<std::uint64_t> throttled_periods;  // of these, those in which the quota ran out
  std::optional<std::uint64_t> throttled_ns;
  std::vector<NodeMemory> memory;  // resident now, by NUMA node; empty: not known
  std::optional<std::uint64_t> memory_pressure_some_ns;  // PSI (cgroup v2)
  std::optional<std::uint64_t> memory_pressure_full_ns;
  std::optional<std::uint64_t> cpu_pressure_some_ns;

  // Summed over its tasks (/proc), since the agent first saw it. Tasks that lived and died between
  // two looks are missing.
  std::optional<std::uint64_t> voluntary_switches;
  std::optional<std::uint64_t> involuntary_switches;
  std::optional<std::uint64_t> run_queue_wait_ns;
  std::optional<std::uint64_t> threads;  // now

  // Exclusive containers: nanoseconds that its cores ran anything else. See intrusion.h.
  std::optional<std::uint64_t> intrusion_ns;

  Rates rates;

  [[nodiscard]] const std::optional<Count>& event(Event e) const {
    return events[static_cast<std::size_t>(e)];
  }
};

// What the counting itself costs.
struct CollectorFigures {
  std::uint64_t passes = 0;
  double cpu_seconds = 0;         // of the collecting thread, since its start
  double last_pass_seconds = 0;   // wall time
  std::uint64_t descriptors = 0;  // open perf events
  std::uint64_t reopened = 0;     // groups opened anew because a cpuset changed
  std::uint64_t vanished = 0;     // containers that went away in the middle of a pass
  std::uint64_t errors = 0;       // readings that failed for another reason
  std::string last_error;
};

struct Sample {
  std::uint64_t number = 0;    // of the pass; 0: none yet
  std::int64_t unix_ms = 0;    // when it ended
  std::int64_t steady_ns = 0;  // the same on the monotonic clock: differences give rates
  std::vector<ContainerFigures> containers;  // ascending by (namespace, pod, container), unique
  std::vector<EventAvailability> events;     // of this machine, one for each Event
  CollectorFigures collector;
};

}  // namespace pinion::metrics
