// What a container is entitled to, read from its pod's QoS class, its CPU request and the
// pinion.dev annotations. Pure: the same pod gives the same wish.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/events.h"

namespace pinion::engine {

enum class Qos { kGuaranteed, kBurstable, kBestEffort, kUnknown };

// NRI does not tell the QoS class; the kubelet's cgroup layout does: ".../kubepods/pod<uid>" is
// Guaranteed, ".../kubepods/burstable/pod<uid>" and ".../besteffort/..." say so; the same with the
// systemd driver's slice names. kUnknown: no kubepods in the path, not made by a kubelet.
[[nodiscard]] Qos qos_of(std::string_view cgroup_parent);
[[nodiscard]] std::string_view to_string(Qos qos);

// The group of all Burstable, or of all BestEffort, pods above this one: "/kubepods/burstable" or
// "kubepods-burstable.slice". Empty for pods of other classes, which lie beside those groups.
[[nodiscard]] std::string qos_group_of(std::string_view cgroup_parent);

// CPUs in thousandths: from quota/period where there is a quota, else from shares (1024 for one
// CPU; the kubelet caps shares at 262144, so that value alone says nothing). nullopt: not stated.
[[nodiscard]] std::optional<std::int64_t> milli_cpus(const Resources& resources);

// `record` with every field replaced that `wanted` states: what a container has after an update. A
// 0 is not a statement; no limit is a negative number.
[[nodiscard]] Resources merge(Resources record, const Resources& wanted);

// What an annotation that is absent means on this node.
struct Defaults {
  topology::Align align = topology::Align::kNuma;
  topology::Smt smt = topology::Smt::kFullCore;
  std::optional<topology::Strength> strength;  // unset: required in a job, else preferred
};

struct Wish {
  enum class Kind {
    kShared,     // runs in the shared set
    kExclusive,  // `request` says on what
    kRefused,    // its annotations contradict themselves or its QoS class: `text`
  };
  Kind kind = Kind::kShared;
  topology::Request request;  // with kExclusive; id and preferred are the caller's to fill in
  std::string text;           // with kRefused: one sentence; with kShared: why not exclusive
  std::vector<std::string> warnings;  // annotations under our prefix that are not understood
};

// Guaranteed and a whole number of CPUs gives exclusive cores unless "cpus: shared" opts out.
// "cpus: exclusive" on any other container is refused with the reason.
[[nodiscard]] Wish wish_of(const Pod& pod, const std::string& container_name,
                           const Resources& resources, const Defaults& defaults);

// What any container, exclusive or not, is said to belong to. Empty: not said.
struct Labels {
  std::string job;
  std::string task_group;
  topology::Profile profile = topology::Profile::kNone;

  bool operator==(const Labels&) const = default;
};
// An unknown profile counts as none here; wish_of refuses it.
[[nodiscard]] Labels labels_of(const Pod& pod, const std::string& container_name);

inline constexpr std::string_view kAnnotationPrefix = "pinion.dev/";

}  // namespace pinion::engine
