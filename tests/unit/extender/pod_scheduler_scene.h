// Pods, and a pod scheduler with two nodes that they are brought to.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/extender/scheduling/pod_scheduler.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {

inline Pod pod_of(const std::string& uid, int cpus,
                  std::map<std::string, std::string> annotations = {}) {
  Pod pod;
  pod.uid = uid;
  pod.name_space = "default";
  pod.name = "pod-" + uid;
  pod.qos = policy::Qos::kGuaranteed;
  for (auto& [name, value] : annotations) pod.annotations["pinion.dev/" + name] = value;
  pod.containers = {{.name = "main", .milli_cpus = 1000 * cpus, .memory = kGiB}};
  return pod;
}

inline Pod member_of(const std::string& job, int number, int size, int cpus) {
  return pod_of(job + std::to_string(number), cpus,
                {{"job", job}, {"gang-size", std::to_string(size)}});
}

// Two nodes of one NUMA domain of 8 cores each, of which CPU 0 is reserved: 7 free.
class PodSchedulerTest : public testing::Test {
 protected:
  using Kind = BindAnswer::Kind;
  using Names = std::vector<std::string_view>;

  void SetUp() override {
    for (const char* name : {"a", "b"}) {
      ASSERT_TRUE(pod_scheduler_.report(report_of(name, machine_), 0));
    }
  }

  // The API server tells of all members of a gang, from this number on.
  void exist(const std::string& job, int size, int cpus, int first = 0) {
    for (int i = 0; i < size; ++i) pod_scheduler_.seen(member_of(job, first + i, size, cpus), now_);
  }
  // The nodes that pass.
  std::string filtered(const Pod& pod, const Names& names = {"a", "b"}) {
    answer_ = pod_scheduler_.filter(pod, names, now_);
    std::string passed;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (answer_.verdict[i] == 0) passed += names[i];
    }
    return passed;
  }
  std::string text_for(std::size_t node) {
    return answer_.verdict[node] == 0 ? "" : answer_.texts[answer_.verdict[node] - 1U].text;
  }
  BindAnswer bind(const Pod& pod, const std::string& node, CallId call_id) {
    return pod_scheduler_.bind(pod.uid, node, call_id, now_);
  }
  // What the agent on that node reports: these containers, each on CPUs of its own.
  void report(const std::string& node, const std::vector<std::pair<std::string, int>>& running) {
    NodeReport report = report_of(node, machine_);
    report.generation = ++generation_;
    int next = 1;
    for (const auto& [id, cpus] : running) {
      report.claims.push_back(
          claim_of(id, std::to_string(next) + "-" + std::to_string(next + cpus - 1)));
      next += cpus;
    }
    ASSERT_TRUE(pod_scheduler_.report(std::move(report), now_));
  }

  const MachinePtr machine_ = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
  static constexpr std::int64_t kCycle = 2000;  // milliseconds
  static constexpr std::int64_t kSilent = 3'600'000;
  PodScheduler pod_scheduler_{
      policy::Defaults(),
      {.hold_ms = 1000,
       .cycle_ms = kCycle,
       .scheduler = {.keep_ms = 5000, .confirm_ms = 9000, .silent_ms = kSilent}}};
  FilterAnswer answer_;
  std::int64_t now_ = 100;
  std::uint64_t generation_ = 1;
};

}  // namespace pinion::cluster
