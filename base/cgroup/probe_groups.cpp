#include "base/cgroup/probe_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup/group_files.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

constexpr const char* kOuter = "pinion-probe";
constexpr const char* kInner = "inner";

}  // namespace

ProbeGroups::ProbeGroups(int root) : root_(root) {
  remove();
}

ProbeGroups::~ProbeGroups() {
  remove();
}

Status ProbeGroups::make() {
  if (mkdirat(root_, kOuter, 0755) != 0) return sys_failure("make a cgroup for the probe");
  outer_ = open_directory(root_, kOuter);
  if (auto done = write_file(outer_.get(), "cgroup.subtree_control", "+cpuset"); !done) return done;
  if (mkdirat(outer_.get(), kInner, 0755) != 0) return sys_failure("make a cgroup for the probe");
  inner_ = open_directory(outer_.get(), kInner);
  return {};
}

void ProbeGroups::remove() const {
  const Fd outer = open_directory(root_, kOuter);
  if (!outer.valid()) return;
  (void)unlinkat(outer.get(), kInner, AT_REMOVEDIR);
  (void)unlinkat(root_, kOuter, AT_REMOVEDIR);
}

}  // namespace pinion::cgroup
