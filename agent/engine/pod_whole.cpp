#include "agent/engine/pod_whole.h"

#include <algorithm>

namespace pinion::engine {
namespace {

constexpr std::int64_t kMilli = 1000;

// CPUs of the pod as a whole in thousandths: at least what its containers cannot have otherwise, as
// the limit of each is within that of its pod, and so are all requests together.
std::optional<std::int64_t> whole_of(const PodRecord& pod) {
  if (!pod.milli) return std::nullopt;
  std::int64_t most = *pod.milli;
  std::int64_t requested = 0;
  for (const Member* member : pod.members) {
    const auto stated = milli_cpus(member->resources);
    if (!stated) continue;
    most = std::max(most, *stated);
    const bool its_own =
        stated != pod.told_milli && !member->of_pod && !policy::requests_less(member->resources);
    if (its_own) requested += *stated;
  }
  return std::max(most, requested);
}

// What of its CPUs the pod's containers use, in thousandths.
struct Use {
  std::int64_t exclusive = 0;
  std::int64_t shared = 0;  // as stated
  std::int64_t pods = 0;    // the same of those that state all of the pod's, as they state no own
  std::int64_t kept = 0;    // for those that have ended
};

Use use_of(const PodRecord& pod, std::int64_t whole, const Member* except) {
  Use use;
  for (const Member* member : pod.members) {
    if (except != nullptr && member->name == except->name) continue;
    const Size& size = member->larger();
    const std::int64_t stated = milli_cpus(size.resources).value_or(0);
    if (size.role == Role::kExclusive) {
      use.exclusive += kMilli * size.request.cpus;
    } else {
      (stated < whole && !size.of_pod ? use.shared : use.pods) += stated;
    }
  }
  for (const auto& [name, kept] : pod.kept()) {
    if (name != kRest) use.kept += kMilli * kept.request.cpus;
  }
  return use;
}

}  // namespace

int unclaimed(const PodRecord& pod, const Member* except) {
  const auto whole = whole_of(pod);
  if (!whole) return 0;
  const Use use = use_of(pod, *whole, except);
  const std::int64_t left = *whole - use.exclusive - use.shared - use.pods - use.kept;
  return static_cast<int>(std::clamp<std::int64_t>(left / kMilli, 0, CpuSet::kCapacity));
}

bool beyond_whole(const PodRecord& pod) {
  const auto whole = whole_of(pod);
  if (!whole) return false;
  const Use use = use_of(pod, *whole, nullptr);
  return use.exclusive + use.shared + use.kept > *whole;
}

std::string beyond_its_pod(const PodRecord& pod, const Member& member,
                           const topology::Request& request) {
  const auto whole = whole_of(pod);
  if (!whole) return {};
  const std::int64_t left = *whole - use_of(pod, *whole, &member).exclusive;
  if (left >= kMilli * request.cpus) return {};
  return "its pod has " + std::to_string(*whole / kMilli) + " CPUs as a whole, and its other " +
         "containers leave " + std::to_string(std::max<std::int64_t>(left, 0) / kMilli) +
         " of them";
}

bool leaves(const PodRecord& pod, const Member& member, int cpus) {
  const auto whole = whole_of(pod);
  if (!whole) return false;
  const Use use = use_of(pod, *whole, &member);
  return *whole - use.exclusive - use.kept >= kMilli * cpus;
}

bool is_all_of(const PodRecord& pod, int cpus) {
  const auto whole = whole_of(pod);
  if (!whole) return false;
  const std::int64_t milli = kMilli * cpus;
  return milli == pod.told_milli || milli == pod.milli || milli >= *whole;
}

// One that has all of the pod's states none of its own, or is alone.
void note_resize(PodRecord& pod, const Member& member, const Resources& after) {
  const auto from = milli_cpus(member.resources);
  const auto to = milli_cpus(after);
  if (!pod.milli || !from || !to) return;
  const bool all = member.of_pod || from == pod.told_milli || from == pod.milli;
  // One that stated more than its pod has was never counted in that.
  const std::int64_t others = all ? 0 : *pod.milli - (*from > *pod.milli ? 0 : *from);
  pod.milli = std::min(others + *to, policy::kMostMilliCpus);
}

}  // namespace pinion::engine
