#include "agent/cgroup/cpuset_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/cgroup/partitions.h"
#include "agent/cgroup/quota_files.h"
#include "base/cgroup/group_files.h"
#include "base/cgroup/paths.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

using engine::Applied;
using engine::Cpuset;
using engine::CpuSet;
using engine::Enforce;
using engine::Enforced;
using engine::NodeSet;

// On v2 an empty file means "as the parent": what is in effect counts.
template <class Set>
Result<Set> read_set_or_effective(int directory, const char* name, const char* effective) {
  auto set = read_set<Set>(directory, name);
  if (!set || !set->empty()) return set;
  return read_set<Set>(directory, effective);
}

bool is_gone(const Error& error) {
  return error.sys_errno == ENOENT || error.sys_errno == ENODEV;
}

}  // namespace

Result<ContainerGroup> CpusetFiles::open_group(const std::string& cgroups_path,
                                               std::uint32_t pid) const {
  return open_container_group(hierarchy_, "cpuset", proc_, cgroups_path, pid);
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
  return Applied{.cpus = *cpus,
                 .mems = *mems,
                 .partition = v2 ? Partitions::read(group) : engine::Partition()};
}

Result<Applied> CpusetFiles::read(const std::string& cgroups_path, std::uint32_t pid) const {
  const auto group = open_group(cgroups_path, pid);
  if (!group) return failure(group.error());
  return read_group(group->directory.get());
}

Status CpusetFiles::unguard(const engine::Unguard& group) const {
  const auto opened = open_group(group.cgroups_path, group.pid);
  const auto path = opened ? Result<std::string>(opened->path) : path_of(group.cgroups_path);
  if (!path) return failure(path.error());
  return Partitions(hierarchy_.mount).remove(*path, group.cpus);
}

Status CpusetFiles::clear_partitions(const CpuSet& online) const {
  return Partitions(hierarchy_.mount).probe(online);
}

Status CpusetFiles::widen_narrowed() {
  if (hierarchy_.version != 2 || !hierarchy_.writable) return {};
  return qos_groups_.widen_narrowed(hierarchy_);
}

void CpusetFiles::enforce_qos_group(const ContainerGroup& group, const Enforce& wanted,
                                    Enforced& result) {
  const auto done = qos_groups_.bring(group.directory.get(), group.path, wanted, result);
  result.gone = !done && is_gone(done.error());
  if (result.gone) return;
  if (!done) result.error = done.error().text;
  const auto left = read_set<CpuSet>(group.directory.get(), "cpuset.cpus.effective");
  if (left && result.error.empty() && !left->is_subset_of(wanted.cpuset.cpus)) {
    result.error = "the groups above it leave it CPUs " + left->to_string();
  }
}

// True: done; false: groups inside remain.
Result<bool> CpusetFiles::write_cpuset(int group, const Enforce& wanted, const Applied& now,
                                       Allowance& allowance) {
  const Cpuset& to = wanted.cpuset;
  if (now.cpus != to.cpus || !wanted.halfway.empty()) {
    if (to.cpus.empty()) return failure(Errc::kInternal, "an empty CPU set is never written");
    if (hierarchy_.version == 2) {
      if (auto done = write_file(group, "cpuset.cpus", to.cpus.to_string()); !done) {
        return failure(done.error());
      }
    } else {
      Allowance none(0, {});
      auto done = inner_.bring(wanted.id, group,
                               {.now = now.cpus, .wanted = to.cpus, .halfway = wanted.halfway},
                               wanted.put_off ? none : allowance);
      if (!done || !*done) return done;
    }
  }
  if (!to.mems.empty() && now.mems != to.mems) {
    if (auto done = write_file(group, "cpuset.mems", to.mems.to_string()); !done) {
      return failure(done.error());
    }
  }
  return true;
}

void CpusetFiles::enforce_container(const ContainerGroup& group, const Enforce& wanted,
                                    Enforced& result, Allowance& allowance) {
  const Applied& now = *result.found;
  if (!engine::matches(now, wanted.cpuset) || !wanted.halfway.empty()) {
    const auto done = write_cpuset(group.directory.get(), wanted, now, allowance);
    result.written = done && *done;
    result.unfinished = done && !*done;
    result.gone = !done && is_gone(done.error());
    if (result.gone) return;
    if (!done) result.error = done.error().text;
  }
  if (!wanted.partition) return;
  if (!result.written && now.partition == *wanted.partition) {
    result.partition = now.partition;
    return;
  }
  const auto done = Partitions(hierarchy_.mount).make(group.path, *wanted.partition);
  result.gone = !done && is_gone(done.error());
  if (result.gone) return;
  if (!done) result.partition_error = done.error().text;
  result.partition = Partitions::read(group.directory.get());
}

void CpusetFiles::enforce_quota(const Enforce& wanted, Enforced& result) const {
  if (!cpu_ || !cpu_->writable || !wanted.quota) return;
  const auto group = open_container_group(*cpu_, "cpu", proc_, wanted.cgroups_path, wanted.pid);
  const auto done = group ? bring_quota(group->directory.get(), cpu_->version, *wanted.quota)
                          : Result<BroughtQuota>(failure(group.error()));
  if (!done && is_gone(done.error())) return;
  result.quota_seen = true;
  if (!done) {
    result.quota_error = done.error().text;
    return;
  }
  result.quota_found = done->found;
  result.pod_quota_before = done->pod_before;
}

Enforced CpusetFiles::enforce(const Enforce& wanted, Allowance& allowance) {
  Enforced result;
  result.id = wanted.id;
  result.cause = wanted.cause;
  const auto group = open_group(wanted.cgroups_path, wanted.pid);
  const auto now =
      group ? read_group(group->directory.get()) : Result<Applied>(failure(group.error()));
  if (!now) {
    result.gone = is_gone(now.error());
    if (!result.gone) result.error = now.error().text;
    return result;
  }
  result.found = *now;
  // Nobody has put other CPUs into an empty file.
  const auto own = hierarchy_.version == 2 ? read_set<CpuSet>(group->directory.get(), "cpuset.cpus")
                                           : Result<CpuSet>(now->cpus);
  result.inherits = own && own->empty();
  if (!hierarchy_.writable) return result;
  if (wanted.qos_group) {
    enforce_qos_group(*group, wanted, result);
  } else {
    enforce_container(*group, wanted, result, allowance);
    if (!result.gone) enforce_quota(wanted, result);
  }
  return result;
}

}  // namespace pinion::cgroup
