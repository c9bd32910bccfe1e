#include "extender/desk/demand.h"

#include <algorithm>
#include <charconv>

namespace pinion::extender {
namespace {

constexpr std::int64_t kPeriod = 100'000;                   // microseconds, the kubelet's
constexpr std::int64_t kMostMilli = std::int64_t{1} << 40;  // far above any machine
constexpr std::string_view kGangSize = "pinion.dev/gang-size";

// As the kubelet will tell the runtime, from which the agent reads its wish.
engine::Resources resources_of(const PodContainer& container) {
  engine::Resources resources;
  if (container.milli_cpus) {
    resources.quota = std::min(*container.milli_cpus, kMostMilli) * (kPeriod / 1000);
    resources.period = kPeriod;
  }
  if (container.memory > 0) resources.memory = static_cast<std::int64_t>(container.memory);
  return resources;
}

// The cgroup under which the kubelet puts pods of this class: what the agent tells the class by.
std::string parent_of(const Pod& pod) {
  switch (pod.qos) {
    case engine::Qos::kGuaranteed:
      return "/kubepods/pod" + pod.uid;
    case engine::Qos::kBurstable:
      return "/kubepods/burstable/pod" + pod.uid;
    case engine::Qos::kBestEffort:
      return "/kubepods/besteffort/pod" + pod.uid;
    case engine::Qos::kUnknown:
      break;
  }
  return {};
}

Demand refused(std::string text) {
  Demand demand;
  demand.kind = Demand::Kind::kRefused;
  demand.text = std::move(text);
  return demand;
}

void make_member(const Pod& pod, const std::string& size_text, Demand& demand) {
  int size = 0;
  const char* end = size_text.data() + size_text.size();
  const auto read = std::from_chars(size_text.data(), end, size);
  if (read.ec != std::errc() || read.ptr != end || size < 1 || size > kMaxGang) {
    demand = refused("annotation " + std::string(kGangSize) + ": not a number from 1 to " +
                     std::to_string(kMaxGang));
    return;
  }
  const std::string& job = demand.requests.front().job;
  if (job.empty()) {
    demand = refused("annotation " + std::string(kGangSize) + " without pinion.dev/job");
    return;
  }
  if (demand.requests.size() > 1) {
    demand = refused("a pod of a gang may have one container with whole CPUs, this one has " +
                     std::to_string(demand.requests.size()));
    return;
  }
  demand.kind = Demand::Kind::kMember;
  demand.gang = pod.name_space + "/" + job;
  demand.size = size;
}

}  // namespace

std::string claim_id(std::string_view pod_uid, std::string_view container) {
  std::string id(pod_uid);
  id += '/';
  id += container;
  return id;
}

Demand demand_of(const Pod& pod, const engine::Defaults& defaults) {
  engine::Pod as_seen;
  as_seen.uid = pod.uid;
  as_seen.name = pod.name;
  as_seen.name_space = pod.name_space;
  as_seen.annotations = pod.annotations;
  as_seen.cgroup_parent = parent_of(pod);
  Demand demand;
  for (const PodContainer& container : pod.containers) {
    engine::Wish wish = engine::wish_of(as_seen, container.name, resources_of(container), defaults);
    if (wish.kind == engine::Wish::Kind::kRefused) {
      return refused("container " + container.name + ": " + wish.text);
    }
    if (wish.kind != engine::Wish::Kind::kExclusive) continue;
    wish.request.id = claim_id(pod.uid, container.name);
    demand.requests.push_back(std::move(wish.request));
  }
  if (demand.requests.empty()) return demand;
  demand.kind = Demand::Kind::kSingle;
  const auto size = pod.annotations.find(std::string(kGangSize));
  if (size != pod.annotations.end()) make_member(pod, size->second, demand);
  return demand;
}

}  // namespace pinion::extender
