// Reads and writes containers' cpuset files. A container's group is opened as a directory first and
// its files below that descriptor, so that a group which is removed and made again under the same
// name in between is never written by mistake.
#pragma once

#include <string>

#include "agent/cgroup/inner_groups.h"
#include "agent/cgroup/qos_groups.h"
#include "agent/cgroup/qos_writer.h"
#include "agent/engine/engine.h"
#include "base/cgroup/container_group.h"
#include "base/cgroup/hierarchy.h"
#include "base/fd.h"

namespace pinion::cgroup {

class CpusetFiles {
 public:
  // `proc` is the directory of the host's /proc. `qos_groups` writes those. `cpu` has the files of
  // the CPU quota: the same as `hierarchy` on v2; without it quotas are left alone.
  CpusetFiles(Hierarchy hierarchy, std::string proc, QosWriter qos_groups = QosWriter({}),
              std::optional<Hierarchy> cpu = {})
      : hierarchy_(std::move(hierarchy)),
        proc_(std::move(proc)),
        qos_groups_(std::move(qos_groups)),
        cpu_(std::move(cpu)) {}

  // What stands in the container's files. On v2 an empty file means that the group follows its
  // parent: the effective set is given then. Errors: kNotFound (no such group), and as read().
  [[nodiscard]] Result<engine::Applied> read(const std::string& cgroups_path,
                                             std::uint32_t pid) const;

  // Brings the container's files to the wanted cpuset: reads, and writes what differs; then makes
  // it the wanted partition, and brings its and its pod's quota. Groups inside a v1 group follow it
  // as far as the allowance goes, see inner_groups.h.
  [[nodiscard]] engine::Enforced enforce(const engine::Enforce& wanted, Allowance& allowance);
  // The same for who may wait.
  [[nodiscard]] engine::Enforced enforce(const engine::Enforce& wanted) {
    Allowance all = Allowance::without_bound();
    return enforce(wanted, all);
  }
  // No container's groups are being followed: what is open for that is closed.
  void rest() { inner_.forget(); }

  // Takes a partition away from a container that lives on without, or is gone.
  [[nodiscard]] Status unguard(const engine::Unguard& group) const;

  // After CPUs came back: the kernel lets some of its threads (kcompactdN, workers of RCU) on them
  // again, also where a partition has them, until any partition changes. Changes one, of a group of
  // its own. Errors: as Partitions::probe().
  [[nodiscard]] Status clear_partitions(const engine::CpuSet& online) const;

  // See qos_groups.h; what comes of it is news. Nothing where the hierarchy is only read. Errors:
  // of the system, nothing was begun then.
  [[nodiscard]] Status widen_narrowed();

  // What systemd has answered meanwhile, see qos_writer.h.
  [[nodiscard]] int news_fd() const { return qos_groups_.news_fd(); }
  [[nodiscard]] QosWriter::News take_news() { return qos_groups_.take_news(); }
  [[nodiscard]] bool quiet() const { return qos_groups_.quiet(); }

  [[nodiscard]] const Hierarchy& hierarchy() const { return hierarchy_; }

 private:
  [[nodiscard]] Result<ContainerGroup> open_group(const std::string& cgroups_path,
                                                  std::uint32_t pid) const;
  [[nodiscard]] Result<engine::Applied> read_group(int group) const;
  Result<bool> write_cpuset(int group, const engine::Enforce& wanted, const engine::Applied& now,
                            Allowance& allowance);
  void enforce_container(const ContainerGroup& group, const engine::Enforce& wanted,
                         engine::Enforced& result, Allowance& allowance);
  void enforce_quota(const engine::Enforce& wanted, engine::Enforced& result) const;
  void enforce_qos_group(const ContainerGroup& group, const engine::Enforce& wanted,
                         engine::Enforced& result);

  Hierarchy hierarchy_;
  std::string proc_;
  QosWriter qos_groups_;
  InnerGroups inner_;
  std::optional<Hierarchy> cpu_;
};

}  // namespace pinion::cgroup
