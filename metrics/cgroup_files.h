// Reads what metrics/cgroup_text.h and metrics/machine_text.h parse. A container may go away at any
// moment: kNotFound is then the ordinary answer.
//
// `path` is a group's path below each hierarchy's root, with a slash at its beginning:
// "/kubepods/pod1/id" (for a container's linux.cgroups_path: base/cgroup/paths.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cgroup/mounts.h"
#include "base/error.h"
#include "base/fd.h"
#include "metrics/figures.h"
#include "metrics/machine_text.h"
#include "metrics/small_file.h"

namespace pinion::metrics {

// What a group's files say. What they do not say is not set: the controller is not there or not
// switched on for this group, PSI is off.
struct CgroupFigures {
  // All counters: since the group was made. Groups inside it are included.
  std::optional<std::uint64_t> cpu_ns;  // exact
  // As the ticks fell. v2: scaled by the kernel so that user + system = cpu_ns. v1: the raw ticks
  // in nanoseconds, whose sum may lie some percent off cpu_ns for tasks that sleep often.
  std::optional<std::uint64_t> cpu_user_ns;
  std::optional<std::uint64_t> cpu_system_ns;
  std::optional<std::uint64_t> periods;
  std::optional<std::uint64_t> throttled_periods;
  std::optional<std::uint64_t> throttled_ns;
  std::vector<NodeMemory> memory;  // now, ascending by node; v1: without groups inside this one
  std::optional<std::uint64_t> memory_pressure_some_ns;
  std::optional<std::uint64_t> memory_pressure_full_ns;
  std::optional<std::uint64_t> cpu_pressure_some_ns;
  std::optional<std::uint64_t> tasks;  // threads now (pids.current)

  // The first file that was there and could not be read or understood. The others' figures hold.
  std::optional<Error> trouble;
};

// One group's files, which stay open from one reading to the next: opening a file costs three times
// as much as reading it. That takes up to kMaxDescriptors descriptors for each reader (v1 and
// hybrid; 5 on v2). A file that was not there is looked for again in each reading.
class CgroupReader {
 public:
  static constexpr std::size_t kMaxDescriptors = 10;

  // `mounts` must outlive the reader.
  CgroupReader(const cgroup::Mounts& mounts, std::string path)
      : mounts_(&mounts), path_(std::move(path)) {}

  // `scratch` is any buffer; one for all readers of a thread will do. Errors: kNotFound where no
  // hierarchy has such a group, or it was removed meanwhile; kInvalid where `path` is no such path;
  // others as the system says, where there is no figure at all.
  Result<CgroupFigures> read(SmallFile& scratch);

  // Nanoseconds that the group ran on each possible CPU, by the CPU's number. Exact, but for tasks
  // that run right now: what they ran since the last tick may be missing. cgroup v1 alone has it.
  // Errors: kUnavailable on a machine without it, else as above.
  Result<std::vector<std::uint64_t>> read_usage_percpu(SmallFile& scratch);

  [[nodiscard]] std::size_t descriptors() const;  // open now
  void close();                                   // all of them; the next reading opens them again

 private:
  friend class GroupReading;
  std::array<Fd, kMaxDescriptors> files_;
  const cgroup::Mounts* mounts_;
  std::string path_;
};

// The online CPUs' times. `root` is the directory that holds the machine's proc/ ("" or "/" for
// this machine). Errors: as the system says, or as parse_cpu_times.
Result<std::vector<CpuTimes>> read_cpu_times(const std::string& root);

// The group's directory in the hierarchy that perf counts by, "/sys/fs/cgroup/kubepods/pod1/id".
// Empty where there is no such hierarchy.
std::string perf_directory(const cgroup::Mounts& mounts, const std::string& path);

}  // namespace pinion::metrics
