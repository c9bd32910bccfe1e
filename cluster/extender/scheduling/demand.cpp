#include "cluster/extender/scheduling/demand.h"
#include "policy/annotations.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace pinion::cluster {
namespace {

constexpr std::int64_t kPeriod = 100'000;  // microseconds, the kubelet's
constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kMostMilli = std::int64_t{1} << 40;  // far above any machine
// No gang of a job begins so: no namespace has a colon.
constexpr std::string_view kOfGroup = "podgroup:";
constexpr std::int64_t kLeastShares = 2;  // the kubelet's
constexpr std::int64_t kMostShares = 262'144;
constexpr int kMaxThreads = 8;  // of a core, as POWER has

// As the kubelet will tell the runtime, from which the agent reads what it is entitled to.
policy::Resources resources_of(const PodContainer& container) {
  policy::Resources resources;
  if (container.milli_cpus) {
    resources.quota = std::min(*container.milli_cpus, kMostMilli) * (kPeriod / 1000);
    resources.period = kPeriod;
  }
  if (container.requested_milli) {
    const std::int64_t shares = std::min(*container.requested_milli, kMostMilli) * 1024 / 1000;
    resources.shares = static_cast<std::uint64_t>(std::clamp(shares, kLeastShares, kMostShares));
  }
  if (container.memory > 0) resources.memory = static_cast<std::int64_t>(container.memory);
  return resources;
}

// The cgroup under which the kubelet puts pods of this class: what the agent tells the class by.
std::string parent_of(const Pod& pod) {
  switch (pod.qos) {
    case policy::Qos::kGuaranteed:
      return "/kubepods/pod" + pod.uid;
    case policy::Qos::kBurstable:
      return "/kubepods/burstable/pod" + pod.uid;
    case policy::Qos::kBestEffort:
      return "/kubepods/besteffort/pod" + pod.uid;
    case policy::Qos::kUnknown:
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

// The number that the annotation holds, from 1 to `most`; 0 when it is not there. Error: kInvalid.
Result<int> number_of(const Pod& pod, const std::string& name, int most) {
  const auto found = pod.annotations.find(name);
  if (found == pod.annotations.end()) return 0;
  int number = 0;
  const char* end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= 1 && number <= most) return number;
  return failure(Errc::kInvalid,
                 "annotation " + name + ": not a number from 1 to " + std::to_string(most));
}

// nullopt: it names none. Error: kInvalid.
Result<std::optional<PlacementPolicy>> placement_of(const Pod& pod) {
  const auto found = pod.annotations.find(annotation::kPlacement);
  if (found == pod.annotations.end()) return std::optional<PlacementPolicy>();
  const auto policy = cluster::placement_of(found->second);
  // That one is the cluster's for services (servicePlacement), and no pod's to choose.
  if (policy && policy != PlacementPolicy::kFill) return policy;
  return failure(Errc::kInvalid,
                 "annotation " + std::string(annotation::kPlacement) +
                     ": none of holes, task-group, task-group-random, first-fit, least-loaded, "
                     "most-loaded");
}

// One of `size`; what is wrong about it, where it cannot be.
Demand as_member(const Pod& pod, Demand demand, std::string gang, int size) {
  const auto groups = number_of(pod, annotation::kTaskGroups, size);
  if (!groups) return refused(groups.error().text);
  become_member(demand, std::move(gang), size);
  demand.groups = *groups;
  return demand;
}

Demand as_annotated(const Pod& pod, Demand demand, int size) {
  const std::string& job = demand.requests.front().job;
  if (job.empty()) {
    return refused("annotation " + std::string(annotation::kGangSize) + " without " +
                   annotation::kJob);
  }
  std::string gang = gang_of(pod, job);
  return as_member(pod, std::move(demand), std::move(gang), size);
}

Demand as_grouped(const Pod& pod, Demand demand, const PodGroups& groups) {
  const std::string key = group_key(pod);
  const auto size = groups.size(key);
  if (!size) {
    Demand waiting;
    waiting.kind = Demand::Kind::kWaiting;
    waiting.text = "waits for its PodGroup " + pod.group + ", which does not exist";
    return waiting;
  }
  if (*size > kMaxGang) {
    return refused("its PodGroup " + pod.group + " wants " + std::to_string(*size) +
                   " pods to start together, more than " + std::to_string(kMaxGang));
  }
  demand.native = pod.group_api == PodGroupApi::kNative;
  return as_member(pod, std::move(demand), gang_of_group(key), *size);
}

// Whether the pod's PodGroup says how many start together, or is to.
bool is_grouped(const Pod& pod, const PodGroups& groups) {
  return !pod.group.empty() && groups.served(pod.group_api) && groups.size(group_key(pod)) != 0;
}

// A launcher or master that is in no gang is not of the job whose workers may use so many nodes,
// nor kept from their nodes.
std::string part_beside_gang(const Pod& pod, const Demand& demand) {
  const auto role = pod.annotations.find(annotation::kRole);
  return role == pod.annotations.end() || demand.nodes > 0 ? std::string() : " " + role->second;
}

// Whether the CPUs that the pod says are planned for it may be so: it is bound, and they are as
// many as would be promised to it.
bool was_planned(const Pod& pod, const topology::Request& request) {
  const int cpus = request.preferred.count();
  if (pod.node.empty()) return false;
  return request.smt == topology::Smt::kOnePerCore
             ? cpus >= request.cpus && cpus <= request.cpus * kMaxThreads
             : cpus == request.cpus;
}

// Takes the CPUs of one container after another into the demand, as its agent will give them. The
// containers of a pod that has so many as a whole have no more of their own: who comes too late for
// that runs on the cores of its pod, if it states all of the pod's, else on the shared CPUs. Beside
// an init container with all of them, those that stay and state their own are promised more.
class Gatherer {
 public:
  explicit Gatherer(const Pod& pod)
      : whole_milli_(pod.milli_cpus),
        left_milli_(whole_milli_.value_or(kMostMilli)),
        initialized_(pod.initialized) {}

  // Why there are none left for it; empty: there are.
  [[nodiscard]] std::string beyond(const topology::Request& request) const {
    if (!whole_milli_ || left_milli_ >= kMilli * request.cpus) return {};
    return "its pod has " + std::to_string(*whole_milli_ / kMilli) + " CPUs as a whole, and its " +
           "other containers leave " + std::to_string(left_milli_ / kMilli) + " of them";
  }
  void add_beyond(const topology::Request& request) {
    if (kMilli * request.cpus == whole_milli_) guests_.push_back(request.id);
  }
  void add(PodContainer::Kind kind, topology::Request request) {
    if (kind == PodContainer::Kind::kInit) return inits_.push_back(std::move(request));
    left_milli_ -= kMilli * request.cpus;
    (kind == PodContainer::Kind::kMain ? mains_ : sidecars_).push_back(std::move(request));
  }

  Demand take() {
    Demand demand;
    // Nobody comes after them who would need their cores: their agent gives them to all.
    if (initialized_ && mains_.empty() && sidecars_.empty()) return demand;
    // Of a pod that has CPUs as a whole, a sidecar may have them all, for the init containers, too.
    const bool on_sidecar = whole_milli_ && mains_.empty() && !sidecars_.empty();
    if (!inits_.empty() && mains_.empty() && !on_sidecar) mains_.push_back(*largest(inits_));
    Requests& hosts = on_sidecar ? sidecars_ : mains_;
    if (!hosts.empty()) {
      const auto host = largest(hosts);
      demand.host = static_cast<std::size_t>(host - hosts.begin());
      if (!on_sidecar) demand.host += sidecars_.size();
      for (const auto& init : inits_) {
        host->cpus = std::max(host->cpus, init.cpus);
        host->memory = std::max(host->memory, init.memory);
        demand.guests.push_back(init.id);
      }
      if (kMilli * host->cpus == whole_milli_) {
        demand.guests.insert(demand.guests.end(), guests_.begin(), guests_.end());
      }
    }
    demand.requests = std::move(sidecars_);
    std::move(mains_.begin(), mains_.end(), std::back_inserter(demand.requests));
    return demand;
  }

 private:
  using Requests = std::vector<topology::Request>;

  static Requests::iterator largest(Requests& requests) {
    return std::max_element(requests.begin(), requests.end(),
                            [](const auto& a, const auto& b) { return a.cpus < b.cpus; });
  }

  const std::optional<std::int64_t> whole_milli_;
  std::int64_t left_milli_;  // of these
  const bool initialized_;
  Requests mains_;
  Requests sidecars_;
  Requests inits_;
  std::vector<std::string> guests_;  // that run on the cores of their pod
};

}  // namespace

std::string claim_id(std::string_view pod_uid, std::string_view container) {
  std::string id(pod_uid);
  id += '/';
  id += container;
  return id;
}

std::string_view pod_of_claim(std::string_view id) {
  return id.substr(0, id.find('/'));
}

std::string group_key(const Pod& pod) {
  return group_key(pod.group_api, pod.name_space, pod.group);
}

std::string gang_of(const Pod& pod, const std::string& job) {
  return pod.name_space + "/" + job + (pod.owner.empty() ? "" : " " + pod.owner);
}

std::string called(const std::string& gang) {
  return gang.substr(0, gang.find(' '));
}

std::string job_of_gang(const std::string& gang) {
  const std::string name = called(gang);
  return name.substr(name.find('/') + 1);
}

void become_member(Demand& demand, std::string gang, int size) {
  if (demand.job.empty()) demand.job = job_of_gang(gang);
  for (auto& request : demand.requests) request.job = gang;
  demand.kind = Demand::Kind::kMember;
  demand.gang = std::move(gang);
  demand.size = size;
}

std::string gang_of_group(const std::string& group_key) {
  return std::string(kOfGroup) + group_key;
}

bool is_of_group(const std::string& gang) {
  return gang.starts_with(kOfGroup);
}

bool is_service(const Pod& pod) {
  const auto said = pod.annotations.find(annotation::kClass);
  const auto service = said == pod.annotations.end() ? std::optional<bool>()
                                                     : value_of(said->second, policy::kClassWords);
  return service.value_or(pod.annotations.contains(annotation::kServiceMetric));
}

bool states_class(const Pod& pod) {
  const auto said = pod.annotations.find(annotation::kClass);
  return said != pod.annotations.end() && !said->second.empty();
}

Demand demand_of(const Pod& pod, const policy::Defaults& defaults, const PodGroups& groups) {
  policy::Pod as_seen;
  as_seen.uid = pod.uid;
  as_seen.name = pod.name;
  as_seen.name_space = pod.name_space;
  as_seen.annotations = pod.annotations;
  as_seen.cgroup_parent = parent_of(pod);
  as_seen.runtime_handler = pod.runtime_class;  // of the same name by custom
  Gatherer gathered(pod);
  for (const PodContainer& container : pod.containers) {
    policy::Entitlement entitlement =
        policy::entitlement_of(as_seen, container.name, resources_of(container), defaults);
    if (entitlement.kind == policy::Entitlement::Kind::kRefused) {
      return refused("container " + container.name + ": " + entitlement.text);
    }
    if (entitlement.kind != policy::Entitlement::Kind::kExclusive) continue;
    entitlement.request.id = claim_id(pod.uid, container.name);
    if (const std::string why = gathered.beyond(entitlement.request); why.empty()) {
      gathered.add(container.kind, std::move(entitlement.request));
    } else if (entitlement.demands) {
      return refused("container " + container.name + ": " + why);
    } else {
      gathered.add_beyond(entitlement.request);
    }
  }
  Demand demand = gathered.take();
  for (auto& request : demand.requests) {
    if (!was_planned(pod, request)) forget_plan(request);
  }
  demand.service = is_service(pod);
  demand.classed = states_class(pod);
  if (demand.requests.empty()) return demand;
  demand.job = demand.requests.front().job;
  demand.kind = Demand::Kind::kSingle;
  const auto placement = placement_of(pod);
  if (!placement) return refused(placement.error().text);
  demand.placement = *placement;
  const auto nodes = number_of(pod, annotation::kNodes, kMaxNodes);
  if (!nodes) return refused(nodes.error().text);
  demand.nodes = *nodes;
  const auto size = number_of(pod, annotation::kGangSize, kMaxGang);
  if (!size) return refused(size.error().text);
  const bool grouped = is_grouped(pod, groups);
  if (*size > 0 && (!grouped || pod.group_api == PodGroupApi::kSigs)) {
    return as_annotated(pod, std::move(demand), *size);
  }
  if (grouped) return as_grouped(pod, std::move(demand), groups);
  const std::string part = part_beside_gang(pod, demand);
  for (auto& request : demand.requests) {
    if (!request.job.empty()) request.job = gang_of(pod, request.job) + part;
  }
  return demand;
}

}  // namespace pinion::cluster
