#include "tests/lab/pod.h"

#include <algorithm>

#include "base/process/memory.h"

namespace pinion::lab {
namespace {

constexpr std::int64_t kPeriod = 100000;  // microseconds: the kubelet's default
constexpr std::int64_t kMinShares = 2;
constexpr std::int64_t kMinQuota = 1000;
constexpr std::int64_t kMemory = 64LL << 20;

std::int64_t shares_of(std::int64_t milli) {
  return std::max(kMinShares, milli * 1024 / 1000);
}

bool is_guaranteed(const ContainerSpec& c) {
  return c.cpu_limit > 0 && c.memory_limit > 0 && c.cpu_request == c.cpu_limit &&
         c.memory_request == c.memory_limit;
}

bool asks_nothing(const ContainerSpec& c) {
  return c.cpu_request == 0 && c.cpu_limit == 0 && c.memory_request == 0 && c.memory_limit == 0;
}

}  // namespace

const char* to_text(Qos qos) {
  switch (qos) {
    case Qos::kGuaranteed:
      return "Guaranteed";
    case Qos::kBurstable:
      return "Burstable";
    case Qos::kBestEffort:
      return "BestEffort";
  }
  return "?";
}

Qos qos_of(const PodSpec& pod) {
  if (std::all_of(pod.containers.begin(), pod.containers.end(), asks_nothing)) {
    return Qos::kBestEffort;
  }
  const bool all = std::all_of(pod.containers.begin(), pod.containers.end(), is_guaranteed);
  return all ? Qos::kGuaranteed : Qos::kBurstable;
}

std::string uid_of(const PodSpec& pod) {
  return pod.uid.empty() ? "uid-" + pod.name : pod.uid;
}

std::string cgroup_parent(const std::string& root, const PodSpec& pod) {
  const std::string base = root + "/kubepods";
  switch (qos_of(pod)) {
    case Qos::kGuaranteed:
      return base + "/pod" + uid_of(pod);
    case Qos::kBurstable:
      return base + "/burstable/pod" + uid_of(pod);
    case Qos::kBestEffort:
      return base + "/besteffort/pod" + uid_of(pod);
  }
  return base;
}

LinuxResources resources_of(const PodSpec& pod, const ContainerSpec& container) {
  LinuxResources result;
  result.cpu_shares = shares_of(container.cpu_request);
  result.cpu_period = kPeriod;
  if (container.cpu_limit > 0) {
    result.cpu_quota = std::max(kMinQuota, container.cpu_limit * kPeriod / 1000);
  }
  result.memory = container.memory_limit;
  switch (qos_of(pod)) {
    case Qos::kGuaranteed:
      result.oom_score_adj = -997;
      break;
    case Qos::kBurstable:
      // pkg/kubelet/qos/policy.go; 999 and 3 keep the class between the other two.
      result.oom_score_adj = std::clamp<std::int64_t>(
          1000 - 1000 * container.memory_request / static_cast<std::int64_t>(machine_memory()), 3,
          999);
      break;
    case Qos::kBestEffort:
      result.oom_score_adj = 1000;
      break;
  }
  return result;
}

std::uint64_t pod_shares(const PodSpec& pod) {
  std::int64_t milli = 0;
  for (const auto& container : pod.containers) milli += container.cpu_request;
  return static_cast<std::uint64_t>(shares_of(milli));
}

std::int64_t pod_quota(const PodSpec& pod) {
  std::int64_t milli = 0;
  for (const auto& container : pod.containers) {
    if (container.cpu_limit == 0) return 0;
    milli += container.cpu_limit;
  }
  return std::max(kMinQuota, milli * kPeriod / 1000);
}

PodSpec guaranteed_pod(const std::string& name, int cpus, std::vector<std::string> command) {
  ContainerSpec container{.name = "main", .command = std::move(command)};
  container.cpu_request = container.cpu_limit = cpus * 1000;
  container.memory_request = container.memory_limit = kMemory;
  return {.name = name, .annotations = {}, .containers = {container}};
}

PodSpec burstable_pod(const std::string& name, std::int64_t milli_cpus,
                      std::vector<std::string> command) {
  ContainerSpec container{.name = "main", .command = std::move(command)};
  container.cpu_request = milli_cpus;
  return {.name = name, .annotations = {}, .containers = {container}};
}

PodSpec best_effort_pod(const std::string& name, std::vector<std::string> command) {
  ContainerSpec container{.name = "main", .command = std::move(command)};
  return {.name = name, .annotations = {}, .containers = {container}};
}

std::vector<std::string> spin(int n) {
  std::string script;
  for (int i = 1; i < n; ++i) script += "(while :; do :; done) & ";
  return {"/bin/busybox", "sh", "-c", script + "while :; do :; done"};
}

}  // namespace pinion::lab
