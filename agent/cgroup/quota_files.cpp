#include "agent/cgroup/quota_files.h"

#include <fcntl.h>
#include <sys/xattr.h>

#include <array>
#include <charconv>
#include <string>

#include "agent/engine/quota.h"
#include "base/cgroup/group_files.h"
#include "base/utf8.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

using engine::CpuQuota;

template <class T>
Result<T> number(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return failure(Errc::kInvalid, "not a number: " + quoted_value(text));
  }
  return value;
}

template <class T>
Result<T> read_number(int group, const char* name) {
  const auto text = read_file(group, name);
  if (!text) return failure(text.error());
  auto value = number<T>(*text);
  if (!value) return failure(value.error().within(name));
  return value;
}

Status write_quota(int group, int version, const CpuQuota& quota) {
  if (version == 2) return write_file(group, "cpu.max", to_string(quota));
  const bool none = quota.limit == CpuQuota::kNone;
  if (!none) {
    if (auto done = write_file(group, "cpu.cfs_period_us", std::to_string(quota.period)); !done) {
      return done;
    }
  }
  return write_file(group, "cpu.cfs_quota_us", std::to_string(quota.limit));
}

// What the pod's group is to say; nullopt: what it says.
std::optional<CpuQuota> pod_quota(const CpuQuota& now, const engine::PodQuota& wanted) {
  const auto within = [&](const CpuQuota& quota) {
    return wanted.borrows ||
           quota.limit <= std::int64_t{wanted.exclusive} * static_cast<std::int64_t>(quota.period);
  };
  if (now.limit != CpuQuota::kNone) {
    return within(now) ? std::optional(CpuQuota{.limit = CpuQuota::kNone, .period = now.period})
                       : std::nullopt;
  }
  if (!wanted.stated || wanted.stated->limit == CpuQuota::kNone || within(*wanted.stated)) {
    return std::nullopt;
  }
  return wanted.stated;
}

const char* attribute(int version) {
  return version == 2 ? "user.pinion.quota" : "trusted.pinion.quota";  // v1 has no other kind
}

std::optional<CpuQuota> remembered(int group, int version) {
  std::array<char, 64> text{};
  const ssize_t size = fgetxattr(group, attribute(version), text.data(), text.size());
  if (size < 0) return std::nullopt;
  const auto quota = parse_cpu_max(std::string_view(text.data(), static_cast<std::size_t>(size)));
  // Whoever may write a group of v2 may set its attribute: what the kernel would refuse is
  // nobody's.
  constexpr std::int64_t least_us = 1'000;
  constexpr std::int64_t longest_period_us = 1'000'000;
  const bool possible = quota && quota->limit != CpuQuota::kNone && quota->limit >= least_us &&
                        static_cast<std::int64_t>(quota->period) >= least_us &&
                        static_cast<std::int64_t>(quota->period) <= longest_period_us;
  return possible ? std::optional(*quota) : std::nullopt;
}

// Best effort: without it only its release leaves the group without a quota.
void remember(int group, int version, const CpuQuota& quota) {
  if (quota.limit == CpuQuota::kNone || remembered(group, version) == quota) return;
  const std::string text = to_string(quota);
  (void)fsetxattr(group, attribute(version), text.data(), text.size(), 0);
}

void forget(int group, int version) {
  (void)fremovexattr(group, attribute(version));
}

void remember_pod(int pod, int version, const CpuQuota& now, const std::optional<CpuQuota>& target,
                  const engine::PodQuota& wanted) {
  if (target && target->limit != CpuQuota::kNone) {
    forget(pod, version);
  } else if (target) {
    remember(pod, version, wanted.trusted ? wanted.stated.value_or(now) : now);
  } else if (now.limit == CpuQuota::kNone && wanted.stated && !remembered(pod, version)) {
    remember(pod, version, *wanted.stated);
  }
}

void restore_below(const Fd& group, const std::string& path, int version, int depth,
                   RestoredQuotas& restored) {
  if (depth > kMaxGroupDepth) return;
  const Status visited = for_each_child(group.get(), [&](const Fd& child, const char* name) {
    const std::string child_path = path + "/" + name;
    // v1 refuses a limit above that of the group around it.
    restore_below(child, child_path, version, depth + 1, restored);
    const auto quota = remembered(child.get(), version);
    if (!quota) return true;
    const auto now = read_quota(child.get(), version);
    const bool none = now && now->limit == CpuQuota::kNone;
    const Status done = !now   ? Status(failure(now.error()))
                        : none ? write_quota(child.get(), version, *quota)
                               : Status();
    if (!done) {
      restored.failed.push_back(child_path + ": " + done.error().text);
      return true;
    }
    forget(child.get(), version);
    if (none) restored.groups.push_back(child_path);
    return true;
  });
  note_unvisited(visited, path, restored.failed);
}

}  // namespace

Result<CpuQuota> parse_cpu_max(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) {
    return failure(Errc::kInvalid, "cpu.max has no period: " + quoted_value(text));
  }
  CpuQuota quota;
  if (text.substr(0, blank) != "max") {
    const auto limit = number<std::int64_t>(text.substr(0, blank));
    if (!limit) return failure(limit.error().within("cpu.max"));
    quota.limit = *limit;
  }
  const auto period = number<std::uint64_t>(text.substr(blank + 1));
  if (!period) return failure(period.error().within("cpu.max"));
  quota.period = *period;
  if (quota.period == 0 || quota.period > 1'000'000 || quota.limit < CpuQuota::kNone) {
    return failure(Errc::kInvalid, "cpu.max is out of range");
  }
  return quota;
}

Result<CpuQuota> read_quota(int group, int version) {
  if (version == 2) {
    const auto text = read_file(group, "cpu.max");
    if (!text) return failure(text.error());
    return parse_cpu_max(*text);
  }
  const auto limit = read_number<std::int64_t>(group, "cpu.cfs_quota_us");
  if (!limit) return failure(limit.error());
  const auto period = read_number<std::uint64_t>(group, "cpu.cfs_period_us");
  if (!period) return failure(period.error());
  return CpuQuota{.limit = *limit < 0 ? CpuQuota::kNone : *limit, .period = *period};
}

Result<BroughtQuota> bring_quota(int group, int version, const engine::QuotaTarget& wanted) {
  const auto own = read_quota(group, version);
  if (!own) return failure(own.error());
  const Fd pod = open_directory(group, "..");
  if (!pod.valid()) return sys_failure("open the pod's cgroup");
  const auto now = read_quota(pod.get(), version);
  if (!now) return failure(now.error().within("the pod's cgroup"));
  const auto write_own = [&]() -> Status {
    return same(*own, wanted.own) ? Status() : write_quota(group, version, wanted.own);
  };
  engine::PodQuota of_pod = wanted.pod;
  if (!of_pod.seen && now->limit == CpuQuota::kNone) {  // an agent before this one saw it
    if (const auto before = remembered(pod.get(), version)) of_pod.stated = before;
  }
  const auto target = pod_quota(*now, of_pod);
  remember_pod(pod.get(), version, *now, target, of_pod);
  if (wanted.own.limit != CpuQuota::kNone) {
    forget(group, version);
  } else if (wanted.stated) {
    remember(group, version, *wanted.stated);
  }
  const bool lowers = target && target->limit != CpuQuota::kNone;
  // A container's limit above its pod's is refused on v1.
  if (lowers) {
    if (auto done = write_own(); !done) return failure(done.error());
  }
  if (target) {
    if (auto done = write_quota(pod.get(), version, *target); !done) {
      return failure(done.error().within("the pod's cgroup"));
    }
  }
  if (!lowers) {
    if (auto done = write_own(); !done) return failure(done.error());
  }
  return BroughtQuota{.found = *own,
                      .pod_before = target && !lowers ? std::optional(*now) : std::nullopt};
}

RestoredQuotas restore_quotas(const Hierarchy& cpu) {
  RestoredQuotas restored;
  const Fd root = open_directory(AT_FDCWD, cpu.mount.c_str());
  if (!root.valid()) {
    restored.failed.push_back(sys_failure("open " + cpu.mount).value().text);
    return restored;
  }
  restore_below(root, "", cpu.version, 0, restored);
  return restored;
}

}  // namespace pinion::cgroup
