#include "metrics/cgroup_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/cgroup/group_files.h"
#include "base/cgroup/paths.h"
#include "metrics/cgroup_text.h"
#include "metrics/small_file.h"
#include "metrics/text.h"

namespace pinion::metrics {

// The files of a reader: where each one's descriptor is kept.
enum class GroupFile {
  kCpuStat,
  kUsage,
  kUsageUser,
  kUsageSys,
  kCpuacctStat,
  kUsagePercpu,
  kNumaStat,
  kPidsCurrent,
  kMemoryPressure,
  kCpuPressure,
};
static_assert(static_cast<std::size_t>(GroupFile::kCpuPressure) + 1 ==
              CgroupReader::kMaxDescriptors);

// One reading of one group: what there is, and the first trouble.
class GroupReading {
 public:
  GroupReading(CgroupReader& reader, SmallFile& scratch) : reader_(reader), scratch_(scratch) {}

  // The text of `name` in this hierarchy's group, or nothing.
  std::optional<std::string_view> read(GroupFile slot, const cgroup::Mount& mount,
                                       const char* name) {
    Fd& file = reader_.files_[static_cast<std::size_t>(slot)];
    if (!file.valid()) open(file, mount, name);
    if (!file.valid()) return std::nullopt;
    const int error = scratch_.read_record(file.get());
    if (error == 0) return scratch_.text();
    file.reset();
    note_error("read ", error, mount, name);
    return std::nullopt;
  }

  // The value of a parsed text, or nothing and the trouble noted.
  template <class Value>
  std::optional<Value> accept(Result<Value> parsed, const cgroup::Mount& mount, const char* name) {
    if (parsed) return std::move(*parsed);
    note(parsed.error().within("read " + place(mount, name)));
    return std::nullopt;
  }

  std::optional<std::uint64_t> number(GroupFile slot, const cgroup::Mount& mount,
                                      const char* name) {
    const auto text = read(slot, mount, name);
    if (!text) return std::nullopt;
    return accept(parse_single_number(*text, name), mount, name);
  }

  [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }

 private:
  void open(Fd& file, const cgroup::Mount& mount, const char* name) {
    const int dir = directory(mount);
    if (dir < 0) return;
    file = Fd(::openat(dir, name, O_RDONLY | O_CLOEXEC));
    if (!file.valid()) note_error("open ", errno, mount, name);
  }

  // The group's directory, opened once as long as the hierarchy stays the same. -1: not there.
  int directory(const cgroup::Mount& mount) {
    if (!mount.found()) return -1;
    if (directory_of_ == mount.directory) return directory_.get();
    directory_of_ = mount.directory;
    directory_ = cgroup::open_directory(AT_FDCWD, (mount.directory + reader_.path_).c_str());
    if (!directory_.valid()) note_error("open ", errno, mount, nullptr);
    return directory_.get();
  }

  [[nodiscard]] std::string place(const cgroup::Mount& mount, const char* name) const {
    const std::string group = mount.directory + reader_.path_;
    return name == nullptr ? group : group + "/" + name;
  }

  void note_error(const char* what, int error, const cgroup::Mount& mount, const char* name) {
    if (!means_absent(error)) note(sys_failure(what + place(mount, name), error).value());
  }

  void note(Error error) {
    if (!trouble_) trouble_ = std::move(error);
  }

  CgroupReader& reader_;
  SmallFile& scratch_;
  std::string_view directory_of_;
  Fd directory_;
  std::optional<Error> trouble_;
};

namespace {

void read_cpu_stat(const cgroup::Mount& mount, GroupReading& group, CgroupFigures& figures) {
  const auto text = group.read(GroupFile::kCpuStat, mount, "cpu.stat");
  if (!text) return;
  const auto stat = group.accept(parse_cpu_stat(*text), mount, "cpu.stat");
  if (!stat) return;
  figures.periods = stat->periods;
  figures.throttled_periods = stat->throttled_periods;
  figures.throttled_ns = stat->throttled_ns;
  if (mount.version != 2) return;
  figures.cpu_ns = stat->usage_ns;
  figures.cpu_user_ns = stat->user_ns;
  figures.cpu_system_ns = stat->system_ns;
}

// Kernels before 4.7 have no usage_user and usage_sys.
void read_cpuacct_ticks(const cgroup::Mount& mount, GroupReading& group, CgroupFigures& figures) {
  const auto text = group.read(GroupFile::kCpuacctStat, mount, "cpuacct.stat");
  if (!text) return;
  const auto stat = group.accept(parse_cpuacct_stat(*text), mount, "cpuacct.stat");
  if (!stat) return;
  static const auto tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  figures.cpu_user_ns = text::times(stat->user_ticks, tick_ns);
  figures.cpu_system_ns = text::times(stat->system_ticks, tick_ns);
}

void read_cpuacct(const cgroup::Mount& mount, GroupReading& group, CgroupFigures& figures) {
  if (mount.version != 1) return;
  figures.cpu_ns = group.number(GroupFile::kUsage, mount, "cpuacct.usage");
  figures.cpu_user_ns = group.number(GroupFile::kUsageUser, mount, "cpuacct.usage_user");
  figures.cpu_system_ns = group.number(GroupFile::kUsageSys, mount, "cpuacct.usage_sys");
  // Both from one place or none: the two count by different rules.
  if (!figures.cpu_user_ns || !figures.cpu_system_ns) {
    figures.cpu_user_ns.reset();
    figures.cpu_system_ns.reset();
    read_cpuacct_ticks(mount, group, figures);
  }
}

void read_memory(const cgroup::Mount& mount, GroupReading& group, CgroupFigures& figures) {
  constexpr const char* name = "memory.numa_stat";
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto text = group.read(GroupFile::kNumaStat, mount, name);
  if (!text) return;
  auto nodes = group.accept(
      mount.version == 2 ? parse_numa_stat_v2(*text) : parse_numa_stat_v1(*text, page_bytes), mount,
      name);
  if (nodes) figures.memory = std::move(*nodes);
}

std::optional<Pressure> read_pressure(GroupFile slot, const cgroup::Mount& mount,
                                      GroupReading& group, const char* name) {
  const auto text = group.read(slot, mount, name);
  if (!text) return std::nullopt;
  return group.accept(parse_pressure(*text), mount, name);
}

void read_pressures(const cgroup::Mount& mount, GroupReading& group, CgroupFigures& figures) {
  if (const auto memory =
          read_pressure(GroupFile::kMemoryPressure, mount, group, "memory.pressure")) {
    figures.memory_pressure_some_ns = memory->some_ns;
    figures.memory_pressure_full_ns = memory->full_ns;
  }
  if (const auto cpu = read_pressure(GroupFile::kCpuPressure, mount, group, "cpu.pressure")) {
    figures.cpu_pressure_some_ns = cpu->some_ns;
  }
}

bool has_any(const CgroupFigures& figures) {
  return figures.cpu_ns || figures.cpu_user_ns || figures.periods || !figures.memory.empty() ||
         figures.memory_pressure_some_ns || figures.cpu_pressure_some_ns || figures.tasks;
}

bool group_is_there(const cgroup::Mounts& mounts, const std::string& path) {
  for (const cgroup::Mount* mount :
       {&mounts.cpu, &mounts.cpuacct, &mounts.memory, &mounts.pids, &mounts.unified}) {
    if (mount->found() && ::access((mount->directory + path).c_str(), F_OK) == 0) return true;
  }
  return false;
}

}  // namespace

Result<CgroupFigures> CgroupReader::read(SmallFile& scratch) {
  if (Status valid = cgroup::check_path(path_); !valid) return failure(valid.error());
  GroupReading group(*this, scratch);
  CgroupFigures figures;
  // In this order one directory after the other is opened, once each.
  read_cpuacct(mounts_->cpuacct, group, figures);
  read_cpu_stat(mounts_->cpu, group, figures);
  read_memory(mounts_->memory, group, figures);
  figures.tasks = group.number(GroupFile::kPidsCurrent, mounts_->pids, "pids.current");
  read_pressures(mounts_->unified, group, figures);
  figures.trouble = group.trouble();
  if (!has_any(figures)) {
    if (figures.trouble) return failure(*figures.trouble);
    // No such group, or one that was removed; else one without files that we know.
    if (!group_is_there(*mounts_, path_)) return failure(Errc::kNotFound, "no cgroup " + path_);
  }
  return figures;
}

Result<std::vector<std::uint64_t>> CgroupReader::read_usage_percpu(SmallFile& scratch) {
  constexpr const char* name = "cpuacct.usage_percpu";
  if (Status valid = cgroup::check_path(path_); !valid) return failure(valid.error());
  if (mounts_->cpuacct.version != 1) {
    return failure(Errc::kUnavailable, std::string("no ") + name + ": not cgroup v1");
  }
  GroupReading group(*this, scratch);
  const auto text = group.read(GroupFile::kUsagePercpu, mounts_->cpuacct, name);
  if (!text && !group.trouble()) return failure(Errc::kNotFound, "no cgroup " + path_);
  if (!text) return failure(*group.trouble());
  auto usage = parse_usage_percpu(*text);
  if (!usage) return failure(usage.error().within("read " + path_));
  return usage;
}

std::size_t CgroupReader::descriptors() const {
  return static_cast<std::size_t>(
      std::count_if(files_.begin(), files_.end(), [](const Fd& file) { return file.valid(); }));
}

void CgroupReader::close() {
  for (Fd& file : files_) file.reset();
}

Result<std::vector<CpuTimes>> read_cpu_times(const std::string& root) {
  const std::string file = root + "/proc/stat";
  SmallFile text;
  if (const int error = text.read(AT_FDCWD, file.c_str()); error != 0) {
    return sys_failure("read " + file, error);
  }
  return parse_cpu_times(text.text());
}

std::string perf_directory(const cgroup::Mounts& mounts, const std::string& path) {
  return mounts.perf.found() ? mounts.perf.directory + path : std::string();
}

}  // namespace pinion::metrics
