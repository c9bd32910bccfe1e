// What the engine is told, and what it answers: plain values. The NRI plugin makes events from the
// runtime's messages and messages from replies; the agent's shell adds what it read from the
// cgroups and carries out the file work. Nothing here knows of protobuf, sockets or files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policy/runtime_pod.h"
#include "topology/allocate.h"

namespace pinion::engine {

using policy::kRefusalBegins;
using policy::Pod;
using policy::Resources;
using topology::Bytes;
using topology::CpuSet;
using topology::NodeSet;

// How the kernel names a device.
struct DeviceNumber {
  enum class Kind { kChar, kBlock };
  Kind kind = Kind::kChar;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;

  bool operator==(const DeviceNumber&) const = default;
};

enum class ContainerState { kUnknown, kCreated, kPaused, kRunning, kStopped };

struct Container {
  std::string id;
  std::string pod_id;
  std::string name;
  ContainerState state = ContainerState::kUnknown;
  Resources resources;       // the runtime's record: often stale, see docs/node.md
  std::string cgroups_path;  // "/kubepods/pod<uid>/<id>" or "slice:cri-containerd:<id>"
  std::uint32_t pid = 0;     // 0 until its process exists
  std::vector<DeviceNumber> devices = {};  // that were allocated to it; see agent/nri/translate.h
  // NUMA nodes beside its devices: the NRI plugin leaves them out and the shell fills them in.
  NodeSet near_nodes = {};
  std::optional<std::int64_t> oom_score_adj = {};  // of its first process; nullopt: not told

  bool operator==(const Container&) const = default;
};

// A cpuset partition of cgroup v2: the kernel itself keeps everybody else off these CPUs.
struct Partition {
  enum class Kind {
    kNone,      // an ordinary group, or a partition that the kernel calls invalid
    kRoot,      // tasks inside are balanced over the CPUs
    kIsolated,  // they are not: each stays where it is put
  };
  Kind kind = Kind::kNone;
  CpuSet cpus;

  bool operator==(const Partition&) const = default;
};

// What stands in a container's cpuset files.
struct Applied {
  CpuSet cpus;
  NodeSet mems;
  Partition partition = {};

  bool operator==(const Applied&) const = default;
};

// CPU time of a group in each period: CFS bandwidth control.
struct CpuQuota {
  static constexpr std::int64_t kNone = -1;
  std::int64_t limit = kNone;      // microseconds; kNone: no limit
  std::uint64_t period = 100'000;  // microseconds; the kernel's and the kubelet's default

  bool operator==(const CpuQuota&) const = default;
};

// Without a limit the period says nothing.
[[nodiscard]] inline bool same(const CpuQuota& a, const CpuQuota& b) {
  return a.limit == b.limit && (a.limit == CpuQuota::kNone || a.period == b.period);
}

// The quota of a pod's group: none where one of its containers `borrows` cores, or they hold
// `exclusive` CPUs (0 where others use the pod's CPUs besides) and it may use no more; else
// `stated`, where it had been taken away.
struct PodQuota {
  int exclusive = 0;
  std::optional<CpuQuota> stated = {};  // nullopt: not known, left as it is
  bool borrows = false;
  bool seen = false;  // the group had `stated`; else it comes from what is known of its containers
  bool trusted = false;  // `stated` it is, whatever else somebody has written there since

  bool operator==(const PodQuota&) const = default;
};

struct QuotaTarget {
  CpuQuota own;
  PodQuota pod;
  // Where its own is taken away: what it was, for who gives the node back. nullopt: not known.
  std::optional<CpuQuota> stated = {};

  bool operator==(const QuotaTarget&) const = default;
};

// A group that holds CPUs by a partition no longer.
struct Unguard {
  std::string cgroups_path;
  std::uint32_t pid = 0;
  CpuSet cpus;

  bool operator==(const Unguard&) const = default;
};

// --- events
// ---------------------------------------------------------------------------------------

// All that exists, after a connection. `files` has the cgroups' own values, by container id, for
// those that could be read; the NRI plugin leaves it empty and the shell fills it in.
struct Synchronize {
  std::vector<Pod> pods;
  std::vector<Container> containers;
  std::map<std::string, Applied> files;
};

struct CreateContainer {
  Pod pod;
  Container container;
};

// An in-place resize. `wanted` is what the container shall have from now on.
struct UpdateContainer {
  Pod pod;
  Container container;
  Resources wanted;
};

// The runtime has not said for a while that it has done this container's update.
struct UpdateOverdue {
  std::string id;
};

struct StopContainer {
  Pod pod;
  Container container;
};

struct PodEvent {
  enum class Kind { kRun, kStop, kRemove };
  Kind kind = Kind::kRun;
  Pod pod;
};

struct ContainerEvent {
  enum class Kind { kPostCreate, kStart, kPostStart, kPostUpdate, kRemove };
  Kind kind = Kind::kPostCreate;
  Pod pod;
  Container container;
};

// CPUs went offline or came back: the machine as it is now.
struct MachineChanged {
  topology::Topology topology;
  CpuSet away = {};  // online as before, but not in between
};

using Event = std::variant<Synchronize, CreateContainer, UpdateContainer, UpdateOverdue,
                           StopContainer, PodEvent, ContainerEvent, MachineChanged>;

// --- reply
// ----------------------------------------------------------------------------------------

// A container's cpuset as the runtime is to be told it. An empty set means "not set by us" and must
// not be sent: to the runtime it reads "no change".
struct Cpuset {
  CpuSet cpus;
  NodeSet mems;

  bool operator==(const Cpuset&) const = default;
};

struct CpusetUpdate {
  std::string id;
  Cpuset cpuset;

  bool operator==(const CpusetUpdate&) const = default;
};

// The answer to the runtime. `refusal` turns it into an error status, which makes the runtime fail
// the request with that text; the other members are then not sent.
struct Reply {
  std::optional<std::string> refusal;
  std::optional<Cpuset> own;  // CreateContainer: adjustment; UpdateContainer: its own entry
  // With `own`: microseconds, CpuQuota::kNone for none; nullopt: as it was asked for.
  std::optional<std::int64_t> own_quota = {};
  std::vector<CpusetUpdate> updates;  // other containers (Create, Update, Stop, Synchronize)

  bool operator==(const Reply&) const = default;
};

}  // namespace pinion::engine
