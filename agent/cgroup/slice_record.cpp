#include "agent/cgroup/slice_record.h"

#include <sys/xattr.h>

#include <array>

namespace pinion::cgroup {
namespace {

using engine::CpuSet;

constexpr const char* kAttribute = "user.pinion.allowed-cpus";  // needs no capability

}  // namespace

std::string to_text(const SliceRecord& record) {
  return record.original.to_string() + " " + record.before.to_string() + " " +
         record.after.to_string();
}

std::optional<SliceRecord> parse_slice_record(std::string_view text) {
  std::array<CpuSet, 3> sets;
  for (std::size_t at = 0; at < sets.size(); ++at) {
    const bool last = at + 1 == sets.size();
    const std::size_t end = last ? text.size() : text.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    const auto set = CpuSet::parse(text.substr(0, end));
    if (!set || set->empty()) return std::nullopt;
    sets[at] = *set;
    text.remove_prefix(last ? end : end + 1);
  }
  return SliceRecord{.original = sets[0], .before = sets[1], .after = sets[2]};
}

std::optional<SliceRecord> read_slice_record(int group) {
  const ssize_t size = fgetxattr(group, kAttribute, nullptr, 0);
  if (size < 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(size), '\0');
  if (fgetxattr(group, kAttribute, text.data(), text.size()) != size) return std::nullopt;
  return parse_slice_record(text);
}

Status write_slice_record(int group, const SliceRecord& record) {
  const std::string text = to_text(record);
  if (fsetxattr(group, kAttribute, text.data(), text.size(), 0) < 0) {
    return sys_failure("remember AllowedCPUs in the group's attribute " + std::string(kAttribute));
  }
  return {};
}

void erase_slice_record(int group) {
  (void)fremovexattr(group, kAttribute);
}

}  // namespace pinion::cgroup
