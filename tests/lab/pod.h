// Pods and containers as a user writes them, and what a kubelet makes of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pinion::lab {

enum class Qos { kGuaranteed, kBurstable, kBestEffort };

const char* to_text(Qos qos);  // "Guaranteed", ...

// A folder or file of the machine in a container.
struct Mount {
  std::string host;
  std::string container;
  bool read_only = true;
};

struct ContainerSpec {
  std::string name;
  std::vector<std::string> command = {};  // empty: the image's pause program
  std::int64_t cpu_request = 0;           // thousandths of a CPU; 0: none
  std::int64_t cpu_limit = 0;
  std::int64_t memory_request = 0;  // bytes; 0: none
  std::int64_t memory_limit = 0;
  std::uint32_t attempt = 0;  // times it was restarted
  std::vector<Mount> mounts = {};
  std::map<std::string, std::string> env = {};
};

struct PodSpec {
  std::string name;
  std::map<std::string, std::string> annotations;
  std::vector<ContainerSpec> containers;
  std::string name_space = "lab";
  std::string uid = {};  // unique in a lab; "": made from the name, which must be unique then
};

// Kubernetes' rule: Guaranteed when every container has equal, non-zero request and limit of CPU
// and memory; BestEffort when none has any; else Burstable.
Qos qos_of(const PodSpec& pod);

std::string uid_of(const PodSpec& pod);

// As a kubelet with the cgroupfs driver: ROOT/kubepods[/burstable|/besteffort]/pod<uid>.
std::string cgroup_parent(const std::string& root, const PodSpec& pod);

// linux.resources of a container. Formulas: kubernetes/kubernetes pkg/kubelet/cm/helpers_linux.go.
struct LinuxResources {
  std::int64_t cpu_shares = 0;
  std::int64_t cpu_quota = 0;   // microseconds; 0: not set
  std::int64_t cpu_period = 0;  // microseconds
  std::int64_t memory = 0;      // bytes; 0: not set
  std::int64_t oom_score_adj = 0;
};
LinuxResources resources_of(const PodSpec& pod, const ContainerSpec& container);

// cpu.shares of the pod's own group: its requests together.
std::uint64_t pod_shares(const PodSpec& pod);
// Its CFS quota, in microseconds of each 100 ms: its limits together; 0: not all have one.
std::int64_t pod_quota(const PodSpec& pod);

// Spec makers, each with one container named "main" that runs `command`.
PodSpec guaranteed_pod(const std::string& name, int cpus, std::vector<std::string> command);
PodSpec burstable_pod(const std::string& name, std::int64_t milli_cpus,
                      std::vector<std::string> command);
PodSpec best_effort_pod(const std::string& name, std::vector<std::string> command);

// A command that keeps n CPUs busy, each with one single-threaded shell.
std::vector<std::string> spin(int n);

}  // namespace pinion::lab
