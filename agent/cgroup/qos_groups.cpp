#include "agent/cgroup/qos_groups.h"

#include <fcntl.h>
#include <sys/xattr.h>

#include "agent/cgroup/slice_properties.h"
#include "base/cgroup/group_files.h"
#include "base/cgroup/probe_groups.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

using engine::CpuSet;

constexpr const char* kNarrowedMark = "user.pinion.narrowed";  // needs no capability
constexpr int kMaxKubepodsDepth = 8;                           // of "kubepods" below a cgroup root

// Where systemd cannot be told, the file: that holds until the next start below the slice.
Status widen(int group, int parent, const std::string& path, SliceProperties& slices) {
  const auto restored = slices.restore(group, path);
  if (restored && *restored) return {};
  const auto all = read_set<CpuSet>(parent, "cpuset.cpus.effective");
  if (!all) return failure(all.error());
  if (auto done = write_file(group, "cpuset.cpus", all->to_string()); !done) return done;
  return restored ? Status() : Status(failure(restored.error()));
}

void widen_below(const Fd& group, const std::string& path, int depth, SliceProperties& slices,
                 Widened& widened) {
  if (depth > kMaxKubepodsDepth) return;
  const Status visited = for_each_child(group.get(), [&](const Fd& child, const char* name) {
    const std::string child_path = path + "/" + name;
    if (fgetxattr(child.get(), kNarrowedMark, nullptr, 0) < 0) {
      widen_below(child, child_path, depth + 1, slices, widened);
    } else if (const auto done = widen(child.get(), group.get(), child_path, slices); done) {
      unmark_narrowed(child.get());
      widened.groups.push_back(child_path);
    } else {
      widened.failed.push_back(child_path + ": " + done.error().text);
    }
    return true;
  });
  note_unvisited(visited, path, widened.failed);
}

}  // namespace

Status probe_narrowing(const Hierarchy& hierarchy, const CpuSet& online) {
  if (hierarchy.version != 2) {
    return failure(Errc::kUnavailable, "the cpuset controller is on cgroup v1");
  }
  const Fd root = open_directory(AT_FDCWD, hierarchy.mount.c_str());
  if (!root.valid()) return sys_failure("open " + hierarchy.mount);
  ProbeGroups groups(root.get());
  if (auto made = groups.make(); !made) return made;
  const CpuSet one{*online.begin()};
  if (auto done = write_file(groups.inner(), "cpuset.cpus", online.to_string()); !done) return done;
  if (auto done = write_file(groups.outer(), "cpuset.cpus", one.to_string()); !done) return done;
  const auto left = read_set<CpuSet>(groups.inner(), "cpuset.cpus.effective");
  if (!left) return failure(left.error());
  if (*left == one) return {};
  return failure(Errc::kUnavailable,
                 "a group below one of CPU " + one.to_string() + " has CPUs " + left->to_string());
}

void mark_narrowed(int group) {
  (void)fsetxattr(group, kNarrowedMark, "1", 1, 0);
}

void unmark_narrowed(int group) {
  (void)fremovexattr(group, kNarrowedMark);
}

Widened widen_narrowed(const Hierarchy& hierarchy, SliceProperties& slices) {
  Widened widened;
  const Fd root = open_directory(AT_FDCWD, hierarchy.mount.c_str());
  if (root.valid()) widen_below(root, "", 0, slices, widened);
  return widened;
}

}  // namespace pinion::cgroup
