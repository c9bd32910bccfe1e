// A job object of any kind as one value: where its pod templates are, which of them work, and what
// its user has stated of their number.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/extender/jobs/job_request.h"

namespace pinion::cluster::jobs {

// JobSet's annotations: exclusive placement, and how it does without making pods one after another.
inline constexpr const char* kExclusiveTopology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
inline constexpr const char* kNodeSelectorStrategy = "alpha.jobset.sigs.k8s.io/node-selector";

enum class JobKind {
  kMpiJob,      // kubeflow.org/v2beta1 MPIJob
  kVolcanoJob,  // batch.volcano.sh/v1alpha1 Job
  kJobSet,      // jobset.x-k8s.io/v1alpha2 JobSet
  kIndexedJob,  // batch/v1 Job, completionMode Indexed
  kPod,         // v1 Pod: a worker by itself
};

struct PodTemplate {
  nlohmann::json::json_pointer at;  // of the object with metadata and spec
  std::string role;                 // "worker", or what the job calls it: "launcher", "mpimaster"
  bool member = false;              // its pods are of the gang
  bool starts = true;               // its pods may call mpirun: a hostfile is for them
};

struct JobObject {
  JobKind kind = JobKind::kPod;
  std::string name;
  std::string name_space;
  std::string worker_name;  // of the workers' task or replicatedJob, where they have one
  std::vector<PodTemplate> templates;
  std::optional<int> workers;  // as its user has stated: all pods of the gang
  std::string workers_field;   // where: "spec.tasks[1].replicas"
  std::optional<int> slots;    // tasks of each worker, as stated
  bool launcher_works = false;
  // Some of its pods are made only when others have been scheduled.
  bool follows_leader = false;
  int parts = 1;  // the workers are split evenly among so many Jobs (a JobSet's replicas)
};

// By apiVersion and kind, the version not looked at; nothing for other objects.
[[nodiscard]] std::optional<JobKind> kind_of(const nlohmann::json& object);

// Whether a controller of one of these kinds has made it, told by its owner references.
[[nodiscard]] bool is_child(const nlohmann::json& object);

// Precondition: kind_of() knows it. `name_space`: as the API server says, for an object that does
// not. Errors: kInvalid, naming the field, for an object without a name or whose fields are not
// what that kind has, and for what cannot become a gang.
Result<JobObject> read_job(const nlohmann::json& object, const std::string& name_space,
                           const JobRequest& request);

// A job that was cut by us, as it is now.
struct CutJob {
  JobRequest request;
  JobObject job;

  int succeeded = 0;  // workers of an Indexed Job that will not run again

  [[nodiscard]] int workers() const { return job.workers.value_or(job.parts); }
  // Pods of the gang: the workers that are still to run, at least 1.
  [[nodiscard]] int members() const { return std::max(1, workers() - succeeded); }
};
// Nothing for an object that is none. Errors: as read_job(), where it was changed by hand.
Result<std::optional<CutJob>> read_cut_job(const nlohmann::json& object);

// Sets the number of workers, and what has to follow it. Errors: kInvalid for a number that the
// object cannot have, or what its user has stated that contradicts it.
Status write_workers(nlohmann::json& object, const JobObject& job, int workers, int slots);

// A worker's host name has its index between these.
struct HostName {
  std::string before;
  std::string after;

  [[nodiscard]] std::string of(int index) const { return before + std::to_string(index) + after; }
  bool operator==(const HostName&) const = default;
};
// nullopt: as hosts_of(), or it takes more than the index (JobSet).
[[nodiscard]] std::optional<HostName> host_name_of(const nlohmann::json& object,
                                                   const JobObject& job);
// The host names of the workers, the first for the first worker; none where they cannot be told
// before the pods exist, or do not resolve.
[[nodiscard]] std::vector<std::string> hosts_of(const nlohmann::json& object, const JobObject& job,
                                                int workers);

// What names the job in a template: "kubeflow.org/v2beta1/mpijobs/j1"; and its path on the API
// server. Nothing for what is no such text.
[[nodiscard]] std::string owner_text(const nlohmann::json& object, const JobObject& job);
[[nodiscard]] std::optional<std::string> owner_path(const std::string& owner,
                                                    const std::string& name_space);

// As what belongs to the job refers to it, so that it goes with the job. Nothing for an object that
// the API server has not stored: it has no uid.
[[nodiscard]] std::optional<nlohmann::json> owner_reference(const nlohmann::json& object,
                                                            const JobObject& job);

}  // namespace pinion::cluster::jobs
