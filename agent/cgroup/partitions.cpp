#include "agent/cgroup/partitions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string_view>

#include "base/cgroup/group_files.h"
#include "base/cgroup/probe_groups.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

using engine::CpuSet;
using engine::Partition;

constexpr const char* kPartitionMark = "user.pinion.partition";  // needs no capability
constexpr const char* kExclusive = "cpuset.cpus.exclusive";
constexpr const char* kPartition = "cpuset.cpus.partition";

bool is_marked(int group) {
  return fgetxattr(group, kPartitionMark, nullptr, 0) >= 0;
}

Status mark(int group) {
  if (fsetxattr(group, kPartitionMark, "1", 1, 0) == 0) return {};
  return sys_failure("mark the group as Pinion's");
}

void unmark(int group) {
  (void)fremovexattr(group, kPartitionMark);
}

// An empty set is written as a line of its own: a write of nothing does nothing.
Status write_exclusive(int group, const CpuSet& cpus) {
  return write_file(group, kExclusive, cpus.empty() ? "\n" : cpus.to_string());
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The groups above `path`, the outermost first: "/a/b/c" gives "/a", "/a/b".
std::vector<std::string> above(const std::string& path) {
  std::vector<std::string> result;
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    result.push_back(path.substr(0, slash));
  }
  return result;
}

const char* word(Partition::Kind kind) {
  return kind == Partition::Kind::kIsolated ? "isolated" : "root";
}

// Why the group is not the partition that was written, as the kernel says it: "root invalid (why)".
tl::unexpected<Error> not_made(int group, Errc code, const std::string& what) {
  const auto state = read_file(group, kPartition);
  const std::string text = state ? trimmed(*state) : "unreadable";
  if (text.find("not permitted") != std::string::npos) {
    return failure(Errc::kDenied, "partitions need CAP_SYS_ADMIN: " + what + " '" + text + "'");
  }
  return failure(code, what + " '" + text + "'");
}

bool has_processes(int group) {
  const auto events = read_file(group, "cgroup.events");
  return !events || events->find("populated 1") != std::string::npos;
}

Status make_ordinary(int group) {
  if (auto done = write_file(group, kPartition, "member"); !done) return done;
  if (auto done = write_exclusive(group, {}); !done) return done;
  unmark(group);
  return {};
}

// Leaves the group with the CPUs that it needs for those below it.
Status reduce(int group, const CpuSet& needed) {
  const auto now = read_set<CpuSet>(group, kExclusive);
  if (!now) return failure(now.error());
  if (*now != needed) {
    if (auto done = write_exclusive(group, needed); !done) return done;
  }
  if (needed.empty()) unmark(group);
  return {};
}

class Sweep {
 public:
  explicit Sweep(bool all) : all_(all) {}

  // What the group needs after it and all below were swept.
  CpuSet visit(const Fd& group, const std::string& path, int depth) {
    if (depth > kMaxGroupDepth) return {};
    if (!is_marked(group.get())) {  // what somebody else has made there keeps its CPUs
      return read_set<CpuSet>(group.get(), kExclusive).value_or(CpuSet());
    }
    const auto state = read_file(group.get(), kPartition);
    const auto exclusive = read_set<CpuSet>(group.get(), kExclusive);
    if (!state || !exclusive) return {};  // gone meanwhile
    if (trimmed(*state) == "member") {
      CpuSet needed;
      note(for_each_child(group.get(), [&](const Fd& child, const char* name) {
        needed |= visit(child, path + "/" + name, depth + 1);
        return true;
      }));
      note(reduce(group.get(), needed));
      return needed;
    }
    // Inside a container, which may have thousands of groups, none is ours.
    if (!all_ && has_processes(group.get())) {
      ++swept_.left;
      return *exclusive;
    }
    note(make_ordinary(group.get()));
    swept_.taken_away.push_back(path);
    return {};
  }

  Result<Swept> result() && {
    if (!trouble_) return failure(trouble_.error());
    return std::move(swept_);
  }

 private:
  void note(const Status& done) {
    if (!done && done.error().sys_errno != ENOENT && done.error().sys_errno != ENODEV) {
      trouble_ = done;
    }
  }

  bool all_;
  Status trouble_;
  Swept swept_;
};

Status try_cpu(const ProbeGroups& groups, topology::CpuId cpu) {
  const CpuSet one{cpu};
  if (auto done = write_exclusive(groups.outer(), one); !done) return done;
  if (auto done = write_exclusive(groups.inner(), one); !done) return done;
  if (auto done = write_file(groups.inner(), kPartition, "root"); !done) return done;
  if (Partitions::read(groups.inner()) == Partition{.kind = Partition::Kind::kRoot, .cpus = one}) {
    return {};
  }
  return not_made(groups.inner(), Errc::kUnavailable, "a partition for trial is");
}

}  // namespace

Partition Partitions::read(int group) {
  const auto state = read_file(group, kPartition);
  if (!state) return {};
  const std::string text = trimmed(*state);
  if (text != "root" && text != "isolated") return {};  // a member, or "... invalid (why)"
  // The kernel still calls one valid whose CPUs went offline before it was made.
  const auto held = read_set<CpuSet>(group, "cpuset.cpus.exclusive.effective");
  const auto running = read_set<CpuSet>(group, "cpuset.cpus.effective");
  if (!held || !running || !held->intersects(*running)) return {};
  return {.kind = text == "root" ? Partition::Kind::kRoot : Partition::Kind::kIsolated,
          .cpus = *held & *running};
}

Status Partitions::make(const std::string& path, const Partition& wanted) const {
  auto done = try_make(path, wanted);
  if (!done && done.error().code == Errc::kInvalid) {
    if (const auto swept = sweep(false); !swept) return failure(swept.error());
    done = try_make(path, wanted);
  }
  if (!done) (void)remove(path, wanted.cpus);
  return done;
}

Status Partitions::try_make(const std::string& path, const Partition& wanted) const {
  const Fd group = open_directory(AT_FDCWD, (mount_ + path).c_str());
  if (!group.valid()) return sys_failure("open cgroup " + path);
  const Partition now = read(group.get());
  if (now == wanted) return {};
  const auto before = read_set<CpuSet>(group.get(), kExclusive);
  if (!before) return failure(before.error());

  for (const std::string& outer_path : above(path)) {
    const Fd outer = open_directory(AT_FDCWD, (mount_ + outer_path).c_str());
    if (!outer.valid()) return sys_failure("open cgroup " + outer_path);
    const auto has = read_set<CpuSet>(outer.get(), kExclusive);
    if (!has) return failure(has.error());
    if (wanted.cpus.is_subset_of(*has)) continue;
    if (auto done = mark(outer.get()); !done) return done;
    if (auto done = write_exclusive(outer.get(), *has | wanted.cpus); !done) {
      return failure(done.error().within(outer_path));
    }
  }
  if (auto done = mark(group.get()); !done) return done;
  if (*before == wanted.cpus && now.cpus != wanted.cpus) {
    // Once clipped to what was above it, the same value again would change nothing.
    if (auto done = write_exclusive(group.get(), {}); !done) return done;
  }
  if (*before != wanted.cpus || now.cpus != wanted.cpus) {
    if (auto done = write_exclusive(group.get(), wanted.cpus); !done) return done;
  }
  if (read(group.get()) != wanted) {
    if (auto done = write_file(group.get(), kPartition, word(wanted.kind)); !done) return done;
  }
  if (const Partition made = read(group.get()); made != wanted) {
    return not_made(group.get(), Errc::kInvalid,
                    "with CPUs '" + made.cpus.to_string() + "' the kernel says");
  }
  const CpuSet given_back = *before - wanted.cpus;
  return given_back.empty() ? Status() : remove_above(path, given_back);
}

Status Partitions::remove(const std::string& path, const CpuSet& cpus) const {
  CpuSet held = cpus;
  const Fd group = open_directory(AT_FDCWD, (mount_ + path).c_str());
  if (group.valid() && is_marked(group.get())) {
    if (const auto had = read_set<CpuSet>(group.get(), kExclusive)) held |= *had;
    auto done = make_ordinary(group.get());
    if (!done && done.error().sys_errno != ENODEV) return done;
  }
  return remove_above(path, held);
}

Status Partitions::remove_above(const std::string& path, const CpuSet& cpus) const {
  const std::vector<std::string> outer_paths = above(path);
  for (auto outer_path = outer_paths.rbegin(); outer_path != outer_paths.rend(); ++outer_path) {
    const Fd outer = open_directory(AT_FDCWD, (mount_ + *outer_path).c_str());
    if (!outer.valid() || !is_marked(outer.get())) continue;
    const auto has = read_set<CpuSet>(outer.get(), kExclusive);
    if (!has) continue;  // gone meanwhile
    if (auto done = reduce(outer.get(), *has - cpus); !done) {
      return failure(done.error().within(*outer_path));
    }
  }
  return {};
}

Result<Swept> Partitions::sweep(bool all) const {
  const Fd root = open_directory(AT_FDCWD, mount_.c_str());
  if (!root.valid()) return sys_failure("open " + mount_);
  Sweep sweep(all);
  const auto listed = for_each_child(root.get(), [&](const Fd& child, const char* name) {
    sweep.visit(child, std::string("/") + name, 1);
    return true;
  });
  if (!listed) return failure(listed.error());
  return std::move(sweep).result();
}

Status Partitions::probe(const CpuSet& online) const {
  const Fd root = open_directory(AT_FDCWD, mount_.c_str());
  if (!root.valid()) return sys_failure("open " + mount_);
  if (online.count() < 2) {
    return failure(Errc::kUnavailable, "with one CPU there is nothing to keep others off");
  }
  ProbeGroups groups(root.get());
  if (auto made = groups.make(); !made) return made;
  if (faccessat(groups.outer(), kExclusive, F_OK, 0) != 0) {
    return failure(Errc::kUnavailable,
                   "this kernel has no remote cpuset partitions (they came with Linux 6.7)");
  }
  if (auto marked = mark(groups.outer()); !marked) return marked;
  Status done;
  // From the last one down: a CPU that some partition has already cannot be tried.
  const std::vector<topology::CpuId> cpus(online.begin(), online.end());
  for (auto cpu = cpus.rbegin(); cpu != cpus.rend(); ++cpu) {
    done = try_cpu(groups, *cpu);
    if (done || done.error().code != Errc::kInvalid) break;
  }
  return done;
}

}  // namespace pinion::cgroup
