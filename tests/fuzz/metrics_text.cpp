// The parsers of cgroup files, /proc/stat, a thread's counters and the mounts, all on the same
// bytes. What they accept must keep what their headers promise.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metrics/cgroup_text.h"
#include "metrics/machine_text.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::metrics_text {
namespace {

using namespace pinion;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void check_memory(const Result<std::vector<metrics::NodeMemory>>& memory) {
  if (!memory) return require(memory.error().code == Errc::kInvalid);
  int last = -1;
  for (const auto& node : *memory) {
    require(node.node > last && node.node < topology::NodeSet::kCapacity);
    last = node.node;
  }
}

void check_cpu(std::string_view text) {
  if (const auto stat = metrics::parse_cpu_stat(text)) {
    require(!stat->usage_ns || (has(text, "usage_usec") && *stat->usage_ns % 1000 == 0));
    require(!stat->periods || has(text, "nr_periods"));
  }
  if (metrics::parse_cpuacct_stat(text)) require(has(text, "user") && has(text, "system"));
  if (const auto usage = metrics::parse_usage_percpu(text)) {
    require(!usage->empty() && usage->size() <= topology::CpuSet::kCapacity);
    // A single number is a list of one.
    const auto number = metrics::parse_single_number(text, "number");
    require(static_cast<bool>(number) == (usage->size() == 1));
    require(!number || *number == usage->front());
  }
  if (const auto pressure = metrics::parse_pressure(text)) {
    require(!pressure->some_ns || (has(text, "some") && *pressure->some_ns % 1000 == 0));
    require(!pressure->full_ns || (has(text, "full") && *pressure->full_ns % 1000 == 0));
  }
}

void check_machine(std::string_view text) {
  if (const auto times = metrics::parse_cpu_times(text)) {
    require(!times->empty());
    for (const auto& cpu : *times) require(cpu.cpu >= 0 && cpu.cpu < topology::CpuSet::kCapacity);
  }
  if (metrics::parse_sched_stat(text)) require(metrics::parse_usage_percpu(text)->size() == 3);
  if (const auto switches = metrics::parse_status_switches(text)) require(!switches->migrations);
  if (const auto switches = metrics::parse_sched_switches(text)) {
    require(!switches->migrations || has(text, "se.nr_migrations"));
  }
  if (const auto ids = metrics::parse_task_ids(text)) {
    require(std::is_sorted(ids->begin(), ids->end()));
    require(ids->empty() || ids->front() > 0);
    require(std::adjacent_find(ids->begin(), ids->end()) == ids->end());
  }
}

}  // namespace

PINION_FUZZ_TARGET(metrics_text) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cpu(text);
  check_memory(metrics::parse_numa_stat_v1(text, 4096));
  check_memory(metrics::parse_numa_stat_v2(text));
  check_machine(text);
  return 0;
}

}  // namespace pinion::fuzz::metrics_text
