// Remote cpuset partitions of cgroup v2 (Linux 6.7 and later): a group whose CPUs the kernel keeps
// everybody else off, wherever it lies in the tree. Every group that is changed for this carries a
// mark (an extended attribute), so that a later agent knows which ones are Pinion's.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/events.h"
#include "base/error.h"
#include "base/fd.h"

namespace pinion::cgroup {

struct Swept {
  std::vector<std::string> taken_away;  // paths of partitions
  int left = 0;                         // partitions with processes in them
};

class Partitions {
 public:
  // `mount`: of the unified hierarchy.
  explicit Partitions(std::string mount) : mount_(std::move(mount)) {}

  // What the group is now. kNone where the kernel has no partitions or calls this one invalid.
  [[nodiscard]] static engine::Partition read(int group);

  // Makes the group at `path` (below the mount) this partition, whatever it was before, and reads
  // it back, because the kernel reports most failures only there. What finished neighbours have
  // left in the way is taken away first. After an error nothing is left of it: the text has the
  // kernel's reason. Errors: kDenied without CAP_SYS_ADMIN, kNotFound for a group that is gone,
  // else kInvalid or kUnavailable.
  [[nodiscard]] Status make(const std::string& path, const engine::Partition& wanted) const;

  // The group is an ordinary one again, and the groups above it no longer hold these CPUs. The
  // group itself may be gone.
  [[nodiscard]] Status remove(const std::string& path, const engine::CpuSet& cpus) const;

  // Takes away the marked partitions without processes, with `all` every marked one, and what
  // groups above hold and no partition below needs.
  Result<Swept> sweep(bool all) const;

  // Whether partitions work here: makes one of one CPU in a group of its own and removes it. For
  // that moment everybody is off that CPU. Errors: as make(), saying what is missing.
  [[nodiscard]] Status probe(const engine::CpuSet& online) const;

 private:
  [[nodiscard]] Status try_make(const std::string& path, const engine::Partition& wanted) const;
  // The groups above `path` hold these CPUs no longer.
  [[nodiscard]] Status remove_above(const std::string& path, const engine::CpuSet& cpus) const;

  std::string mount_;
};

}  // namespace pinion::cgroup
