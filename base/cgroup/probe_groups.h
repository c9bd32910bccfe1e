// Two cgroups of v2, one inside the other, to try out what this kernel does.
#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace pinion::cgroup {

// Removed at the end, and so is what a killed probe has left. Nobody is ever in them.
class ProbeGroups {
 public:
  // `root`: the hierarchy's mount, open while this lives.
  explicit ProbeGroups(int root);
  ~ProbeGroups();
  ProbeGroups(const ProbeGroups&) = delete;
  ProbeGroups& operator=(const ProbeGroups&) = delete;

  // Both with the cpuset controller. Errors: of the system.
  [[nodiscard]] Status make();

  // Descriptors; valid after make().
  [[nodiscard]] int outer() const { return outer_.get(); }
  [[nodiscard]] int inner() const { return inner_.get(); }

 private:
  void remove() const;

  int root_;
  Fd outer_;
  Fd inner_;
};

}  // namespace pinion::cgroup
