#include "ctl/doctor/checks.h"
#include "ctl/doctor/words.h"

namespace pinion::ctl::doctor {

Findings check_cpusets(const CgroupFacts& cgroup) {
  const std::string id = "cgroup-cpuset";
  if (!cgroup.unread.empty()) return with_unread({}, id, cgroup.unread);
  if (cgroup.version == 0) {
    return {error(id, "no hierarchy of cgroups with cpusets is mounted",
                  "mount cgroup2 at /sys/fs/cgroup, as systemd does at boot")};
  }
  if (cgroup.version == 1) {
    return {good(id, "cpusets are on cgroup v1")};
  }
  if (!cgroup.controllers.contains("cpuset")) {
    return {error(id, "the kernel offers no cpuset controller on cgroup v2",
                  "boot without cgroup_disable=cpuset and without a v1 hierarchy of cpusets, with "
                  "a kernel that has CONFIG_CPUSETS")};
  }
  Findings findings;
  for (const PodsGroup& group : cgroup.pods) {
    if (group.controllers.contains("cpuset")) continue;
    findings.push_back(error(
        id, "the pods' group " + group.path + " has no cpuset controller",
        "write +cpuset into cgroup.subtree_control of each group above it; where systemd runs the "
        "kubelet or the runtime inside a slice of its own, set Delegate=yes for that unit"));
  }
  if (findings.empty()) {
    findings.push_back(good(id, cgroup.pods.empty() ? "cgroup v2 has cpusets; no pods' groups yet"
                                                    : "cgroup v2 has cpusets down to the pods"));
  }
  return findings;
}

}  // namespace pinion::ctl::doctor
