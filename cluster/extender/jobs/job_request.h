// What a job's user asks for in annotations on the job object.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "cluster/core/granularity.h"

namespace pinion::cluster::jobs {

inline constexpr int kMaxTasks = 1'000'000;

struct JobRequest {
  int tasks = 1;          // 1 .. kMaxTasks
  int cpus_per_task = 1;  // 1 .. CpuSet::kCapacity
  std::optional<Bytes> memory_per_task;
  Profile profile = Profile::kNone;
  std::string profile_why;  // what `auto` came to, and why; empty: it was stated, or is not
  std::optional<Policy> policy;
  int nodes = 0;            // it may use at most; 0: all
  int groups = 0;           // 0: not said
  std::string job;          // empty: its name
  std::string worker_role;  // empty: not said
  bool hostfile = true;     // wanted where there is none
  // What the agent reads on pods (align, strength, smt, ...): goes to the workers' templates.
  std::map<std::string, std::string> for_workers;
};

// Nothing for a job without pinion.dev/tasks, which is left alone. Errors: kInvalid, naming the
// annotation, for a value that makes no sense, and for one that needs pinion.dev/tasks.
Result<std::optional<JobRequest>> read_job_request(const nlohmann::json& object);

// In a few words, equal for equal requests: "16 tasks x 2 CPUs, 1Gi each, profile cpu, policy
// auto".
[[nodiscard]] std::string words_of(const JobRequest& request);

// "1 task", "2 tasks".
[[nodiscard]] std::string counted(int count, const std::string& what);

// As Kubernetes writes it, with the largest suffix of Ki .. Ei that loses nothing: "16Gi".
[[nodiscard]] std::string quantity_text(Bytes bytes);

}  // namespace pinion::cluster::jobs
