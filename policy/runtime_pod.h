// What is to be known of a pod to tell what its containers are entitled to, as the runtime and the
// kubelet say it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pinion::policy {

// linux.resources, as far as cores and memory go. The cpu and memory texts are the runtime's.
struct Resources {
  std::optional<std::uint64_t> shares;  // cpu.shares: 1024 for one CPU
  std::optional<std::int64_t> quota;    // microseconds of CPU time in each period; <= 0: no limit
  std::optional<std::uint64_t> period;  // microseconds
  std::optional<std::int64_t> memory;   // bytes; <= 0: no limit
  std::string cpus;                     // kernel list; empty: not set
  std::string mems;

  bool operator==(const Resources&) const = default;
};

struct Pod {
  std::string id;   // the sandbox
  std::string uid;  // of the Kubernetes object
  std::string name;
  std::string name_space;
  std::map<std::string, std::string> annotations;  // those of pinion.dev
  std::string
      cgroup_parent;  // "/kubepods/burstable/pod<uid>" or "kubepods-burstable-pod<uid>.slice"
  std::string runtime_handler = {};  // of its RuntimeClass; empty: the runtime's default
  Resources resources = {};  // of the pod as a whole, when its sandbox was made; may be unstated
  std::uint32_t pid = 0;     // of its sandbox's process; 0: it has stopped, or is not told

  bool operator==(const Pod&) const = default;
};

// So a refusal of a container begins, wherever it is shown: in `kubectl describe pod` and in the
// message of the container's status, in which the extender looks for it.
inline constexpr std::string_view kRefusalBegins = "pinion refuses container ";

}  // namespace pinion::policy
