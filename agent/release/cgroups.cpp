#include "agent/release/cgroups.h"

#include <fcntl.h>

#include <string_view>

#include "agent/cgroup/partitions.h"
#include "agent/cgroup/qos_groups.h"
#include "base/cgroup/group_files.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

// What groups below may have: on v1 the files' own values, on v2 what is in effect.
struct Names {
  const char* cpus;
  const char* mems;
};

class Release {
 public:
  Release(int version, SliceProperties& slices)
      : slices_(slices),
        source_(version == 2 ? Names{"cpuset.cpus.effective", "cpuset.mems.effective"}
                             : Names{"cpuset.cpus", "cpuset.mems"}) {}

  void find_pods(const Fd& group, const std::string& path, int depth) {
    if (depth > kMaxGroupDepth) return;
    const Status visited = for_each_child(group.get(), [&](const Fd& child, const char* name) {
      const std::string_view word = name;
      const std::string child_path = path + "/" + name;
      if (word == "kubepods" || word == "kubepods.slice") {
        widen(child, group, child_path);
        widen_below(child, child_path, depth + 1);
      } else {
        find_pods(child, child_path, depth + 1);
      }
      return true;
    });
    note_unvisited(visited, path, released.failed);
  }

  Released released;

 private:
  // The outer groups first: an inner one cannot have more than they.
  void widen_below(const Fd& group, const std::string& path, int depth) {
    if (depth > kMaxGroupDepth) {
      const auto inside = child_groups(group.get());
      if (inside && !inside->empty()) {
        released.failed.push_back(path + ": the groups in it are nested too deeply");
      }
      return;
    }
    const Status visited = for_each_child(group.get(), [&](const Fd& child, const char* name) {
      const std::string child_path = path + "/" + name;
      widen(child, group, child_path);
      widen_below(child, child_path, depth + 1);
      return true;
    });
    note_unvisited(visited, path, released.failed);
  }

  void widen(const Fd& group, const Fd& parent, const std::string& path) {
    const auto restored = slices_.restore(group.get(), path);
    if (!restored) released.failed.push_back(path + ": " + restored.error().text);
    const bool as_before = restored && *restored;
    const bool cpus = as_before || follow(group, parent, "cpuset.cpus", source_.cpus, path);
    const bool mems = follow(group, parent, "cpuset.mems", source_.mems, path);
    if (restored) unmark_narrowed(group.get());
    if (cpus || mems) released.widened.push_back(path);
  }

  // True when the file was narrower than what the parent has, and is not any more. An empty one
  // (v2) follows its parent already.
  bool follow(const Fd& group, const Fd& parent, const char* file, const char* source,
              const std::string& path) {
    const auto now = read_file(group.get(), file);
    const auto all = read_file(parent.get(), source);
    if (!now || !all || *now == *all || now->empty() || *now == "\n" || *all == "\n") return false;
    const auto done = write_file(group.get(), file, *all);
    if (!done) released.failed.push_back(path + ": " + done.error().text);
    return static_cast<bool>(done);
  }

  SliceProperties& slices_;
  Names source_;
};

}  // namespace

Result<Released> release(const Hierarchy& hierarchy, SliceProperties& slices) {
  if (!hierarchy.writable) {
    return failure(Errc::kDenied, "the cpuset hierarchy at " + hierarchy.mount +
                                      " can only be read: run this as root on the node itself");
  }
  Release walk(hierarchy.version, slices);
  if (hierarchy.version == 2) {
    auto swept = Partitions(hierarchy.mount).sweep(true);
    if (!swept) return failure(swept.error());
    walk.released.partitions = std::move(swept->taken_away);
  }
  const Fd root = open_directory(AT_FDCWD, hierarchy.mount.c_str());
  if (!root.valid()) return sys_failure("open " + hierarchy.mount);
  walk.find_pods(root, "", 0);
  return std::move(walk.released);
}

}  // namespace pinion::cgroup
