#include "metrics/machine_text.h"

#include <algorithm>
#include <array>

#include "metrics/text.h"

namespace pinion::metrics {
namespace {

// A "key : value" or "key:\tvalue" line's number, where it has one of these keys.
struct SwitchKey {
  std::string_view name;
  std::optional<std::uint64_t>* target;
};

template <std::size_t Count>
Status read_switches(std::string_view text, std::string_view kind,
                     const std::array<SwitchKey, Count>& keys) {
  while (!text.empty()) {
    const std::string_view line = text::next_line(text);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = text::trimmed(line.substr(0, colon));
    for (const SwitchKey& key : keys) {
      if (name != key.name) continue;
      *key.target = text::to_number<std::uint64_t>(text::trimmed(line.substr(colon + 1)));
      if (!*key.target) return text::bad_line(kind, line);
    }
  }
  return {};
}

// The eight numbers of a "cpuN" line; false where one is missing or none.
bool read_times(std::string_view words, CpuTimes& times) {
  for (std::uint64_t* target : {&times.user, &times.nice, &times.system, &times.idle, &times.iowait,
                                &times.irq, &times.softirq, &times.steal}) {
    const auto value = text::to_number<std::uint64_t>(text::next_word(words));
    if (!value) return false;
    *target = *value;
  }
  return true;
}

}  // namespace

Result<std::vector<CpuTimes>> parse_cpu_times(std::string_view proc_stat) {
  constexpr std::string_view kind = "/proc/stat";
  std::vector<CpuTimes> all;
  while (!proc_stat.empty()) {
    const std::string_view line = text::next_line(proc_stat);
    const auto number = text::after(line, "cpu");
    if (!number || number->empty() || number->front() == ' ') continue;
    std::string_view rest = *number;
    const auto cpu = text::to_number<topology::CpuId>(text::next_word(rest));
    if (!cpu || *cpu < 0 || *cpu >= topology::CpuSet::kCapacity) return text::bad_line(kind, line);
    CpuTimes times{.cpu = *cpu};
    if (!read_times(rest, times)) return text::bad_line(kind, line);
    all.push_back(times);
  }
  if (all.empty()) return failure(Errc::kInvalid, std::string(kind) + ": no CPU");
  return all;
}

Result<SchedStat> parse_sched_stat(std::string_view text) {
  SchedStat stat;
  std::string_view rest = text;
  for (std::uint64_t* target : {&stat.run_ns, &stat.wait_ns, &stat.slices}) {
    const auto value = text::to_number<std::uint64_t>(text::next_word(rest));
    if (!value) return text::bad_line("schedstat", text);
    *target = *value;
  }
  if (!text::trimmed(rest).empty()) return text::bad_line("schedstat", text);
  return stat;
}

Result<TaskSwitches> parse_status_switches(std::string_view text) {
  TaskSwitches switches;
  const std::array keys{SwitchKey{"voluntary_ctxt_switches", &switches.voluntary},
                        SwitchKey{"nonvoluntary_ctxt_switches", &switches.involuntary}};
  if (Status read = read_switches(text, "status", keys); !read) return failure(read.error());
  return switches;
}

Result<TaskSwitches> parse_sched_switches(std::string_view text) {
  TaskSwitches switches;
  const std::array keys{SwitchKey{"nr_voluntary_switches", &switches.voluntary},
                        SwitchKey{"nr_involuntary_switches", &switches.involuntary},
                        SwitchKey{"se.nr_migrations", &switches.migrations}};
  if (Status read = read_switches(text, "sched", keys); !read) return failure(read.error());
  return switches;
}

Result<std::vector<int>> parse_task_ids(std::string_view text) {
  std::vector<int> ids;
  for (;;) {
    const std::string_view word = text::next_word(text);
    if (word.empty()) break;
    const auto id = text::to_number<int>(word);
    if (!id || *id < 0) {
      return failure(Errc::kInvalid, "task list: no task id: " + text::quoted(word));
    }
    if (*id != 0) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace pinion::metrics
