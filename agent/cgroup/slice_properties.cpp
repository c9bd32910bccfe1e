#include "agent/cgroup/slice_properties.h"

#include <utility>

#include "agent/cgroup/qos_groups.h"
#include "agent/cgroup/slice_record.h"
#include "base/cgroup/group_files.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

using engine::CpuSet;

Status write_cpus(int group, const CpuSet& cpus) {
  if (cpus.empty()) return failure(Errc::kInternal, "an empty CPU set is never written");
  return write_file(group, "cpuset.cpus", cpus.to_string());
}

}  // namespace

std::string unit_of(const std::string& path) {
  return path.ends_with(".slice") ? path.substr(path.rfind('/') + 1) : "";
}

// What was set before the agent's time, or by others meanwhile, is told by the record. A group that
// was made anew has none: then by what is remembered here.
Status SliceProperties::ask(int group, const std::string& unit, Slice& slice) {
  const auto record = read_slice_record(group);
  auto property = manager_.allowed_cpus(unit);
  if (!property && property.error().code != Errc::kNotFound) {
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
Status SliceProperties::tell(int group, const std::string& unit, const CpuSet& cpus, Slice& slice) {
  const SliceRecord record{.original = *slice.limit, .before = slice.property, .after = cpus};
  if (auto kept = write_slice_record(group, record); !kept) return kept;
  mark_narrowed(group);
  if (auto told = manager_.set_allowed_cpus(unit, cpus); !told) return told;
  slice.property = cpus;
  if (cpus == *slice.limit) erase_slice_record(group);
  return {};
}

SliceAnswer SliceProperties::bring(int group, const std::string& unit, const SliceTarget& target) {
  Slice& slice = slices_[unit];
  SliceAnswer answer;
  Status done = ask(group, unit, slice);
  answer.limit = slice.limit;
  const CpuSet cpus = engine::within(slice.limit, target.cpus, target.below);
  if (slice.limit && slice.property != cpus) {
    if (done) {
      done = tell(group, unit, cpus, slice);
      answer.told = static_cast<bool>(done);
    } else if (!slice.property.empty()) {  // what it was is to be known, as the file is written
      (void)write_slice_record(group,
                               {.original = *slice.limit, .before = slice.property, .after = cpus});
    }
  }
  if (!done) answer.error = done.error().text;
  return answer;
}

Result<bool> SliceProperties::restore(int group, const std::string& path) {
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
