#include "agent/cgroup/qos_writer.h"

#include <utility>

#include "agent/cgroup/qos_groups.h"
#include "agent/cgroup/slice_record.h"
#include "base/cgroup/group_files.h"

namespace pinion::cgroup {
namespace {

using engine::CpuSet;

// The unit of the group at `path`; empty for a group that is none of systemd's slices.
std::string unit_of(const std::string& path) {
  return path.ends_with(".slice") ? path.substr(path.rfind('/') + 1) : "";
}

Status write_cpus(int group, const CpuSet& cpus) {
  if (cpus.empty()) return failure(Errc::kInternal, "an empty CPU set is never written");
  return write_file(group, "cpuset.cpus", cpus.to_string());
}

}  // namespace

// What was set before the agent's time, or by others meanwhile, is told by the record. A group that
// was made anew has none: then by what is remembered here.
Status QosWriter::ask(int group, const std::string& unit, Slice& slice) {
  const auto record = read_slice_record(group);
  auto property = manager_.allowed_cpus(unit);
  slice.known = property || property.error().code == Errc::kNotFound;
  if (!slice.known) {
    if (!slice.limit && record) slice.limit = record->original;
    return failure(property.error());
  }
  const CpuSet before = std::exchange(slice.property, property.value_or(CpuSet()));
  if (slice.property.empty()) {
    slice.limit.reset();
  } else if (record && record->explains(slice.property)) {
    slice.limit = record->original;
  } else if (record || !slice.limit || slice.property != before) {
    slice.limit = slice.property;
  }
  if (record && slice.limit != record->original) erase_slice_record(group);
  return {};
}

// The record comes first: an agent that is killed in between has left one that explains both.
Status QosWriter::tell(int group, const std::string& unit, const CpuSet& cpus, Slice& slice) {
  const SliceRecord record{.original = *slice.limit, .before = slice.property, .after = cpus};
  if (auto kept = write_slice_record(group, record); !kept) return kept;
  mark_narrowed(group);
  slice.known = false;
  if (auto told = manager_.set_allowed_cpus(unit, cpus); !told) return told;
  slice.known = true;
  slice.property = cpus;
  if (cpus == *slice.limit) erase_slice_record(group);
  return {};
}

Status QosWriter::bring(int group, const std::string& path, const engine::Enforce& wanted,
                        engine::Enforced& result) {
  const std::string unit = unit_of(path);
  Slice none;
  Slice& slice = unit.empty() ? none : slices_[unit];
  CpuSet now = result.found->cpus;
  Status asked;
  const bool audit = wanted.cause == engine::Cause::kAudit;
  if (!unit.empty() && (!slice.known || audit || slice.left != now)) {
    asked = ask(group, unit, slice);
  }
  result.limit = slice.limit;
  const CpuSet cpus = engine::within(slice.limit, wanted.cpuset.cpus, wanted.below);
  if (asked && slice.limit && slice.property != cpus) {
    asked = tell(group, unit, cpus, slice);
    const auto read = read_set<CpuSet>(group, "cpuset.cpus");
    if (read) now = *read;
    if (asked && now != cpus) {
      asked = failure(Errc::kUnavailable, "systemd has taken AllowedCPUs=" + cpus.to_string() +
                                              ", and the group has CPUs " + now.to_string());
    }
  }
  if (!asked) result.slice_error = asked.error().text;
  slice.left = cpus;
  if (now != cpus) {
    if (auto done = write_cpus(group, cpus); !done) return done;
  }
  result.written = result.found->cpus != cpus;
  if (result.written) mark_narrowed(group);
  return {};
}

Result<bool> QosWriter::restore(int group, const std::string& path) {
  const auto record = read_slice_record(group);
  if (!record) return false;
  const std::string unit = unit_of(path);
  auto property = manager_.allowed_cpus(unit);
  if (!property && property.error().code == Errc::kNotFound) property = CpuSet();
  if (!property) return failure(property.error());
  const CpuSet cpus = record->explains(*property) ? record->original : *property;
  if (cpus != *property) {
    if (auto told = manager_.set_allowed_cpus(unit, cpus); !told) return failure(told.error());
  }
  if (!cpus.empty()) {  // the file may have been written past systemd
    if (auto done = write_cpus(group, cpus); !done) return failure(done.error());
  }
  erase_slice_record(group);
  return !cpus.empty();
}

}  // namespace pinion::cgroup
