// What a container is entitled to, read from its pod's QoS class, its CPU request and the
// pinion.dev annotations. Pure: the same pod gives the same entitlement.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/lending.h"
#include "policy/runtime_pod.h"
#include "topology/words.h"

namespace pinion::policy {

enum class Qos { kGuaranteed, kBurstable, kBestEffort, kUnknown };

// NRI does not tell the QoS class; the kubelet's cgroup layout does: ".../kubepods/pod<uid>" is
// Guaranteed, ".../kubepods/burstable/pod<uid>" and ".../besteffort/..." say so; the same with the
// systemd driver's slice names. kUnknown: no kubepods in the path, not made by a kubelet.
[[nodiscard]] Qos qos_of(std::string_view cgroup_parent);
[[nodiscard]] std::string_view to_string(Qos qos);

// The group of all Burstable, or of all BestEffort, pods above this one: "/kubepods/burstable" or
// "kubepods-burstable.slice". Empty for pods of other classes, which lie beside those groups.
[[nodiscard]] std::string qos_group_of(std::string_view cgroup_parent);
// Both those groups of the kubelet that made the pod, whatever its class is; none for other pods.
[[nodiscard]] std::vector<std::string> qos_groups_of(std::string_view cgroup_parent);

// The bytes that the kubelet counts for the container: the limit of one in a Guaranteed pod. The
// runtime is not told a Burstable one's request, but the kubelet makes the score for the kernel's
// choice of whom to kill of it: 1000 - 1000 * request / `machine`, the memory of the machine; so it
// is read back from there, down to a whole thousandth of that. 0 for all others, and where nothing
// is stated.
[[nodiscard]] topology::Bytes requested_memory(Qos qos, const Resources& resources,
                                               std::optional<std::int64_t> oom_score_adj,
                                               topology::Bytes machine);

// In thousandths: far above any machine, so that sums and quotas of it do not overflow.
inline constexpr std::int64_t kMostMilliCpus = 1'000'000'000'000;

// CPUs in thousandths, at most kMostMilliCpus: from quota/period where there is a quota, else from
// shares (1024 for one CPU; the kubelet caps shares at 262144, so that value alone says nothing).
// nullopt: not stated.
[[nodiscard]] std::optional<std::int64_t> milli_cpus(const Resources& resources);

// Whether its shares tell of less than its limit: a container whose pod is Guaranteed by
// spec.resources may request less, or nothing. Not where they do not tell.
[[nodiscard]] bool requests_less(const Resources& resources);

// The limit of memory in bytes, at most 256 TiB; 0: none.
[[nodiscard]] topology::Bytes stated_memory(const Resources& resources);

// `record` with every field replaced that `wanted` states: what a container has after an update. A
// 0 is not a statement; no limit is a negative number.
[[nodiscard]] Resources merge(Resources record, const Resources& wanted);

// Which pods get exclusive CPUs without further ado.
enum class ExclusivePods {
  kGuaranteed,  // all Guaranteed ones with whole CPUs, as with the kubelet
  kAnnotated,   // of those the ones with "cpus: exclusive" or a job
};

// What a pod's annotations may ask only where the operator lets them.
enum class Privilege {
  kOnePerCore,  // "smt: one-per-core": holds more CPUs than its request, and so a quota, counts
  kIsolated,    // "isolation: isolated": CPUs that the operator has set apart
  kNearDevice,  // "near-device": the CPUs beside a device, whoever uses it
};

// How this node places: what an annotation that is absent means, and who may ask what.
struct Defaults {
  topology::Align align = topology::Align::kNuma;
  topology::Smt smt = topology::Smt::kPreferFull;
  // Unset: required in a job, else preferred.
  std::optional<topology::Strength> strength = {};
  ExclusivePods pods = ExclusivePods::kGuaranteed;
  std::set<std::string> namespaces = {};  // of pods that get exclusive CPUs; empty: all
  std::set<Privilege> privileges = {Privilege::kNearDevice};
  // Runtime handlers that run pods in virtual machines; a "*" at the end stands for any rest.
  std::vector<std::string> vm_handlers = {"kata*"};
};

struct Entitlement {
  enum class Kind {
    kShared,     // runs in the shared set
    kExclusive,  // `request` says on what
    kRefused,    // its annotations contradict themselves or its QoS class: `text`
  };
  Kind kind = Kind::kShared;
  topology::Request request;  // with kExclusive; id is the caller's to fill in
  topology::CpuSet beside;  // with request.planned: what is planned for the pod's other containers
  bool demands = false;     // with kExclusive: it is to be refused rather than be shared
  std::string text;         // with kRefused: one sentence; with kShared: why not exclusive
  // Annotations under our prefix that are not understood; with kShared also the first wrong value
  // of those that say which CPUs.
  std::vector<std::string> warnings;
};

inline constexpr std::array kExclusivePodsWords{
    Word<ExclusivePods>{"guaranteed", ExclusivePods::kGuaranteed},
    Word<ExclusivePods>{"annotated", ExclusivePods::kAnnotated}};
inline constexpr std::array kPrivilegeWords{Word<Privilege>{"one-per-core", Privilege::kOnePerCore},
                                            Word<Privilege>{"isolated", Privilege::kIsolated},
                                            Word<Privilege>{"near-device", Privilege::kNearDevice}};

// Whether it is a service, by its class.
inline constexpr std::array kClassWords{Word<bool>{"hpc", false}, Word<bool>{"service", true}};

// Guaranteed and a whole number of CPUs gives exclusive cores unless "cpus: shared" opts out, or
// the pod is in a virtual machine. "cpus: exclusive" on any other container, or one without the
// privilege for it, is refused with the reason.
[[nodiscard]] Entitlement entitlement_of(const Pod& pod, const std::string& container_name,
                                         const Resources& resources, const Defaults& defaults);

// Whether containers of the pod may run on each other's cores: none of its annotations insists on
// exclusive CPUs, and none lends them.
[[nodiscard]] bool may_share_cores(const Pod& pod);

// Why the request is refused whose annotations ask for what `privileges` do not have: one sentence.
// Empty: they do not.
[[nodiscard]] std::string not_allowed(const topology::Request& request,
                                      const std::set<Privilege>& privileges);

// What any container, exclusive or not, is said to belong to. Empty: not said.
struct Labels {
  std::string job;
  std::string task_group;
  topology::Profile profile = topology::Profile::kNone;
  std::optional<bool> service;  // its class: a service, or HPC

  bool operator==(const Labels&) const = default;
};
// A job's or task group's name as agent and extender have it: its first kLongestName bytes, no
// character cut in two. An annotation may be a thousand times as long, and each container has one.
[[nodiscard]] std::string cut_name(std::string_view name);
// An unknown profile or class counts as none here; entitlement_of refuses it.
[[nodiscard]] Labels labels_of(const Pod& pod, const std::string& container_name);

// What any container says of lent cores.
struct Lending {
  std::optional<LendTo> lend_to;  // whom its own are lent to
  bool borrows = false;           // it takes lent ones

  bool operator==(const Lending&) const = default;
};
// What cannot be read counts as absent here; entitlement_of refuses it.
[[nodiscard]] Lending lending_of(const Pod& pod, const std::string& container_name);

}  // namespace pinion::policy
