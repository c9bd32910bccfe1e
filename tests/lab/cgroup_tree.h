// The machine's cgroup hierarchies as the lab uses them: makes the parents that a kubelet would
// make, reads what is applied, and removes everything below the lab's own root. Version 1, 2 and
// both beside each other. Paths are cgroup paths ("/pinion-lab-7/kubepods/pod1"), not directories.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "topology/cpuset.h"

namespace pinion::lab {

class CgroupTree {
 public:
  // From /proc/self/mounts. Error: kNotFound when no hierarchy has the cpuset controller.
  static Result<CgroupTree> discover();

  [[nodiscard]] bool unified() const { return unified_; }  // cpuset is on cgroup v2
  // The directory of a cgroup in the hierarchy that has cpuset.
  [[nodiscard]] std::string cpuset_dir(const std::string& path) const { return cpuset_ + path; }

  // Makes the group where cpuset and cpu live, with all of its parent's CPUs and memory nodes (as a
  // kubelet's groups have) and these cpu.shares (0: leave). Parents are made likewise.
  Status create(const std::string& path, std::uint64_t shares);
  // Gives the group a CFS quota, in microseconds of each 100 ms; negative: none.
  [[nodiscard]] Status limit(const std::string& path, std::int64_t quota) const;
  // What it says; nullopt: no limit.
  [[nodiscard]] Result<std::optional<std::int64_t>> quota(const std::string& path) const;
  // "nr_throttled" and the like of its cpu.stat. Error: kNotFound where there is no such line.
  [[nodiscard]] Result<std::int64_t> cpu_stat(const std::string& path,
                                              const std::string& key) const;
  // Removes the group and all below it in every hierarchy. Error: what could not be removed.
  [[nodiscard]] Status remove(const std::string& path) const;

  // What is in force: cpuset.cpus, on v2 cpuset.cpus.effective.
  [[nodiscard]] Result<topology::CpuSet> cpus(const std::string& path) const;
  [[nodiscard]] Result<topology::NodeSet> mems(const std::string& path) const;
  // Processes of this group and all below it, in the cpuset hierarchy.
  [[nodiscard]] std::vector<int> processes(const std::string& path) const;
  // The same over all hierarchies: what must end before the groups can go.
  [[nodiscard]] std::vector<int> processes_anywhere(const std::string& path) const;

 private:
  std::vector<std::string> roots_;  // of every hierarchy
  std::string cpuset_;              // one of them
  std::string cpu_;                 // one of them, or empty
  bool unified_ = false;
};

}  // namespace pinion::lab
