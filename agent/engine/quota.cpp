#include "agent/engine/quota.h"

#include <algorithm>

#include "agent/engine/loans.h"
#include "agent/engine/with_pod.h"

namespace pinion::engine {
namespace {

// Of a quota in microseconds: far above any machine, so that sums do not overflow.
constexpr std::int64_t kMostQuota = std::int64_t{1} << 40;

std::optional<std::int64_t> milli_by_shares(Resources resources) {
  resources.quota.reset();
  return milli_cpus(resources);
}

CpuQuota quota_of(std::int64_t milli) {
  constexpr auto per_milli = static_cast<std::int64_t>(CpuQuota().period) / 1000;
  return CpuQuota{.limit = std::min(milli * per_milli, kMostQuota)};
}

// Whether a record without its quota would still say how many CPUs it has: not from 256 on.
bool shares_tell(const Member& member) {
  return milli_by_shares(member.resources) == std::int64_t{1000} * member.request.cpus;
}

// Of the pod's containers as far as they are known: all of them together.
std::optional<CpuQuota> stated_by_containers(const State& state, const Member& of) {
  CpuQuota sum{.limit = 0};
  for (const Member* member : state.members_of(of.pod_id)) {
    const auto stated = stated_quota(member->resources);
    if (!stated) return std::nullopt;
    sum.limit += stated->limit * static_cast<std::int64_t>(sum.period) /
                 static_cast<std::int64_t>(stated->period);
    sum.limit = std::min(sum.limit, kMostQuota);
  }
  return sum;
}

PodQuota pod_target(const State& state, const Member& of) {
  PodQuota pod;
  bool others = false;  // use the pod's CPUs besides
  for (const Member* member : state.members_of(of.pod_id)) {
    if (lifts_quota(*member)) pod.exclusive += member->request.cpus;
    pod.borrows = pod.borrows || !borrowed(state, *member).empty();
    const bool on_cores = member->role == Role::kExclusive || runs_with_pod(state, *member);
    others = others || (!on_cores && policy::milli_cpus(member->resources));
  }
  const auto record = state.pods.find(of.pod_id);
  if (record == state.pods.end()) {
    pod.stated = stated_by_containers(state, of);
    return pod;
  }
  for (const auto& [name, kept] : record->second.kept()) {
    if (!name.empty()) pod.exclusive += kept.request.cpus;  // it may come again at any moment
  }
  if (others) pod.exclusive = 0;
  const PodRecord& known = record->second;
  pod.seen = known.quota.has_value();
  pod.trusted = pod.seen && known.quota_trusted;
  pod.stated = known.quota;
  if (!pod.stated && known.milli) pod.stated = quota_of(*known.milli);
  if (!pod.stated) pod.stated = stated_by_containers(state, of);
  return pod;
}

}  // namespace

std::optional<CpuQuota> stated_quota(const Resources& resources) {
  const std::int64_t quota = resources.quota.value_or(0);
  if (quota == 0) return std::nullopt;
  constexpr std::uint64_t longest = 1'000'000;  // the kernel's upper bound of a period
  const std::uint64_t period = resources.period.value_or(0);
  if (quota > 0) {
    const bool sane = period > 0 && period <= longest;
    return CpuQuota{.limit = std::min(quota, kMostQuota),
                    .period = sane ? period : CpuQuota().period};
  }
  const auto milli = milli_by_shares(resources);
  return milli ? std::optional(quota_of(*milli)) : std::nullopt;
}

std::string to_string(const CpuQuota& quota) {
  const bool none = quota.limit == CpuQuota::kNone;
  return (none ? "max" : std::to_string(quota.limit)) + " " + std::to_string(quota.period);
}

bool lifts_quota(const Member& member) {
  if (member.role != Role::kExclusive || member.qos != Qos::kGuaranteed) return false;
  const std::int64_t quota = member.resources.quota.value_or(0);
  return quota > 0 || (quota < 0 && shares_tell(member));
}

bool lifts_quota(const State& state, const Member& member) {
  if (lifts_quota(member)) return true;
  if (member.resources.quota.value_or(0) <= 0) return false;
  return !borrowed(state, member).empty() || runs_with_pod(state, member);
}

std::optional<QuotaTarget> quota_target(const State& state, const Member& member) {
  const auto stated = stated_quota(member.resources);
  if (lifts_quota(state, member)) {
    return QuotaTarget{.own = {}, .pod = pod_target(state, member), .stated = stated};
  }
  if (!member.unlimited || !stated) return std::nullopt;
  return QuotaTarget{.own = *stated, .pod = pod_target(state, member)};
}

std::optional<std::int64_t> told_quota(const Member& member) {
  if (lifts_quota(member)) {
    return shares_tell(member) ? std::optional(CpuQuota::kNone) : std::nullopt;
  }
  const auto stated = stated_quota(member.resources);
  return member.unlimited && stated ? std::optional(stated->limit) : std::nullopt;
}

}  // namespace pinion::engine
