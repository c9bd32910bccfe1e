#include "agent/cgroup/cpuset_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <memory>

#include "agent/cgroup/paths.h"

namespace pinion::cgroup {
namespace {

using engine::Applied;
using engine::Cpuset;
using engine::CpuSet;
using engine::Enforce;
using engine::Enforced;
using engine::NodeSet;

constexpr std::size_t kMaxText = 65'536;  // a list of 4,096 CPUs, every second one: 20 KB
constexpr int kMaxDepth = 16;             // of groups inside a container

// The whole of a small file. At most kMaxText bytes.
Result<std::string> read_file(int directory, const char* name) {
  const Fd file(openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure(std::string("open ") + name);
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < kMaxText) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0) return sys_failure(std::string("read ") + name);
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return failure(Errc::kInvalid,
                 std::string(name) + " is longer than " + std::to_string(kMaxText) + " bytes");
}

Status write_file(int directory, const char* name, const std::string& value) {
  const Fd file(openat(directory, name, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return sys_failure(std::string("open ") + name);
  if (::write(file.get(), value.data(), value.size()) < 0) {
    return sys_failure("write '" + value + "' to " + name);
  }
  return {};
}

template <class Set>
Result<Set> read_set(int directory, const char* name) {
  const auto text = read_file(directory, name);
  if (!text) return failure(text.error());
  auto set = Set::parse(*text);
  if (!set) return failure(set.error().within(name));
  return *set;
}

// On v2 an empty file means "as the parent": what is in effect counts.
template <class Set>
Result<Set> read_set_or_effective(int directory, const char* name, const char* effective) {
  auto set = read_set<Set>(directory, name);
  if (!set || !set->empty()) return set;
  return read_set<Set>(directory, effective);
}

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};

// Narrows every group inside this one to `cpus`, the innermost first. What is already inside stays
// as it is; a group with nothing in common gets all of `cpus`.
Status narrow_children(int directory, const CpuSet& cpus, int depth) {
  if (depth > kMaxDepth) return failure(Errc::kInvalid, "groups are nested too deeply");
  Fd copy(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy.valid()) return sys_failure("open group");
  const std::unique_ptr<DIR, CloseDir> dir(fdopendir(copy.get()));
  if (!dir) return sys_failure("list group");
  (void)copy.release();  // owned by `dir` from here on
  while (const dirent* entry = readdir(dir.get())) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    const Fd child(openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!child.valid()) continue;  // removed meanwhile
    if (auto inner = narrow_children(child.get(), cpus, depth + 1); !inner) return inner;
    const auto now = read_set<CpuSet>(child.get(), "cpuset.cpus");
    if (!now || now->is_subset_of(cpus)) continue;
    const CpuSet common = *now & cpus;
    auto done =
        write_file(child.get(), "cpuset.cpus", (common.empty() ? cpus : common).to_string());
    if (!done && done.error().sys_errno != ENOENT) return done;
  }
  return {};
}

Status write_cpuset(int group, const Cpuset& wanted, const Applied& now, int version) {
  if (now.cpus != wanted.cpus) {
    if (wanted.cpus.empty()) return failure(Errc::kInternal, "an empty CPU set is never written");
    auto done = write_file(group, "cpuset.cpus", wanted.cpus.to_string());
    if (!done && done.error().sys_errno == EBUSY && version == 1) {
      if (auto narrowed = narrow_children(group, wanted.cpus, 0); !narrowed) return narrowed;
      done = write_file(group, "cpuset.cpus", wanted.cpus.to_string());
    }
    if (!done) return done;
  }
  if (!wanted.mems.empty() && now.mems != wanted.mems) {
    return write_file(group, "cpuset.mems", wanted.mems.to_string());
  }
  return {};
}

bool is_gone(const Error& error) {
  return error.sys_errno == ENOENT || error.sys_errno == ENODEV;
}

}  // namespace

Result<Fd> CpusetFiles::open_group(const std::string& cgroups_path, std::uint32_t pid) const {
  const auto open_at = [&](const std::string& path) {
    return Fd(open((hierarchy_.mount + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  };
  const auto path = path_of(cgroups_path);
  if (path) {
    if (Fd group = open_at(*path); group.valid()) return group;
    if (errno != ENOENT) return sys_failure("open cgroup " + *path);
  }
  if (pid != 0) {
    const Fd process(
        open((proc_ + "/" + std::to_string(pid)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto text = process.valid()
                          ? read_file(process.get(), "cgroup")
                          : Result<std::string>(failure(Errc::kNotFound, "no such process"));
    const auto other = text ? path_in_proc(*text, hierarchy_.version) : std::nullopt;
    // The root group is where a process lands whose own group is gone: never a container's.
    if (other && *other != "/") {
      if (Fd group = open_at(*other); group.valid()) return group;
    }
  }
  if (!path) return failure(path.error());
  return sys_failure("open cgroup " + *path, ENOENT);
}

Result<Applied> CpusetFiles::read_group(int group) const {
  const bool v2 = hierarchy_.version == 2;
  const auto cpus =
      v2 ? read_set_or_effective<CpuSet>(group, "cpuset.cpus", "cpuset.cpus.effective")
         : read_set<CpuSet>(group, "cpuset.cpus");
  if (!cpus) return failure(cpus.error());
  const auto mems =
      v2 ? read_set_or_effective<NodeSet>(group, "cpuset.mems", "cpuset.mems.effective")
         : read_set<NodeSet>(group, "cpuset.mems");
  if (!mems) return failure(mems.error());
  return Applied{.cpus = *cpus, .mems = *mems};
}

Result<Applied> CpusetFiles::read(const std::string& cgroups_path, std::uint32_t pid) const {
  const auto group = open_group(cgroups_path, pid);
  if (!group) return failure(group.error());
  return read_group(group->get());
}

Enforced CpusetFiles::enforce(const Enforce& wanted) const {
  Enforced result;
  result.id = wanted.id;
  result.cause = wanted.cause;
  const auto group = open_group(wanted.cgroups_path, wanted.pid);
  const auto now = group ? read_group(group->get()) : Result<Applied>(failure(group.error()));
  if (!now) {
    result.gone = is_gone(now.error());
    if (!result.gone) result.error = now.error().text;
    return result;
  }
  result.found = *now;
  if (engine::matches(*now, wanted.cpuset)) return result;
  if (!hierarchy_.writable) return result;
  const auto done = write_cpuset(group->get(), wanted.cpuset, *now, hierarchy_.version);
  if (done) {
    result.written = true;
  } else if (is_gone(done.error())) {
    result.gone = true;
  } else {
    result.error = done.error().text;
  }
  return result;
}

}  // namespace pinion::cgroup
