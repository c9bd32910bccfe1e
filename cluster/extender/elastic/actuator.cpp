#include "cluster/extender/elastic/actuator.h"

#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::elastic {
namespace {

using jobs::JobKind;
using kube::has_condition;
using kube::json_at;
using kube::json_integer;
using kube::json_text;
using nlohmann::json;

tl::unexpected<Error> wrong(const std::string& what) {
  return failure(Errc::kInvalid, what);
}

constexpr std::size_t kMostTasks = std::size_t{64} << 10;  // bytes of JSON

int count(const json& counts, const char* name) {
  return static_cast<int>(json_integer(counts, name));
}

Status read_indexed(const json& object, ElasticObject& elastic) {
  const json& spec = json_at(object, "spec");
  if (json_integer(spec, "parallelism") != json_integer(spec, "completions")) {
    return wrong("spec.parallelism and spec.completions must be equal");
  }
  const json& status = json_at(object, "status");
  elastic.suspended = json_at(spec, "suspend") == true;
  elastic.active = count(status, "active");
  elastic.ready = count(status, "ready");
  elastic.succeeded = count(status, "succeeded");
  elastic.terminating = count(status, "terminating");
  elastic.over = has_condition(object, "Complete") || has_condition(object, "Failed");
  elastic.head = "batch.kubernetes.io/job-name=" + elastic.name +
                 ",batch.kubernetes.io/job-completion-index=0";
  return {};
}

// The operator counts only pods that run. It ends those with the highest numbers at once, and
// writes its hostfile anew.
Status read_mpi(const json& object, const jobs::JobObject& job, ElasticObject& elastic) {
  if (job.launcher_works) {
    return wrong("spec.runLauncherAsWorker: its operator ends one worker too many on a shrink");
  }
  elastic.suspended = json_at(object, "spec", "runPolicy", "suspend") == true;
  elastic.active = count(json_at(object, "status", "replicaStatuses", "Worker"), "active");
  elastic.ready = elastic.active;
  elastic.over = has_condition(object, "Succeeded") || has_condition(object, "Failed");
  elastic.head =
      "training.kubeflow.org/job-name=" + elastic.name + ",training.kubeflow.org/job-role=launcher";
  const json& least = json_at(object, "spec", "runPolicy", "schedulingPolicy", "minAvailable");
  elastic.spec_part = {{"minAvailable", least}};
  return {};
}

Status read_volcano(const json& object, const jobs::JobObject& job, ElasticObject& elastic) {
  const json& phases =
      json_at(object, "status", "taskStatusCount", job.worker_name.c_str(), "phase");
  elastic.ready = count(phases, "Running");
  elastic.active = elastic.ready + count(phases, "Pending");
  elastic.succeeded = count(phases, "Succeeded");
  const std::string phase = json_text(object, "status", "state", "phase");
  for (const char* end :
       {"Completed", "Failed", "Aborted", "Terminated", "Completing", "Aborting", "Terminating"}) {
    if (phase == end) elastic.over = true;
  }
  // The first task that is not the workers' starts the program, else the first worker.
  std::string task = job.worker_name;
  for (std::size_t i = job.templates.size(); i-- > 0;) {
    if (job.templates[i].member) elastic.worker_task = i;
    if (!job.templates[i].member) task = job.templates[i].role;
  }
  elastic.head = "volcano.sh/job-name=" + elastic.name + ",volcano.sh/task-spec=" + task +
                 ",volcano.sh/task-index=0";
  elastic.spec_part = {{"tasks", json_at(object, "spec", "tasks")},
                       {"minAvailable", json_at(object, "spec", "minAvailable")}};
  // They are kept, and written whole with each change.
  if (kube::json_dump(elastic.spec_part).size() > kMostTasks) {
    return wrong("its tasks take more than 64 KiB");
  }
  return {};
}

// A minimum that was all pods stays so, and none is more than there are.
void follow(json& object, int before, int now) {
  const std::int64_t least = json_integer(object, "minAvailable");
  if (least == before || least > now) object["minAvailable"] = now;
}

// Lists are replaced whole by a merge patch: all tasks, with one number of pods changed.
json resized_volcano(const ElasticObject& job, int workers) {
  json spec = job.spec_part;
  int others = 0;  // each of them was counted when it was read
  for (const json& task : spec["tasks"]) others += count(task, "replicas");
  others -= job.stated;
  json& task = spec["tasks"][job.worker_task];
  task["replicas"] = workers;
  follow(task, job.stated, workers);
  follow(spec, others + job.stated, others + workers);
  return spec;
}

json resized_mpi(const ElasticObject& job, int workers) {
  json spec = {{"mpiReplicaSpecs", {{"Worker", {{"replicas", workers}}}}}};
  json policy = job.spec_part;
  follow(policy, job.stated + 1, workers + 1);  // the launcher is counted
  if (policy != job.spec_part) spec["runPolicy"]["schedulingPolicy"] = policy;
  return spec;
}

}  // namespace

Status read_size(const json& object, const jobs::JobObject& job, ElasticObject& elastic) {
  elastic.stated = job.workers.value_or(1);
  switch (job.kind) {
    case JobKind::kIndexedJob:
      return read_indexed(object, elastic);
    case JobKind::kMpiJob:
      return read_mpi(object, job, elastic);
    case JobKind::kVolcanoJob:
      return read_volcano(object, job, elastic);
    case JobKind::kJobSet:
      return wrong("a JobSet has one size: put the label on replicatedJobs[].template.metadata");
    case JobKind::kPod:
      break;
  }
  return wrong("a pod by itself has no size");
}

json resized(const ElasticObject& job, int workers) {
  if (job.kind == JobKind::kVolcanoJob) return resized_volcano(job, workers);
  if (job.kind == JobKind::kMpiJob) return resized_mpi(job, workers);
  return {{"parallelism", workers}, {"completions", workers}};
}

json suspended(const ElasticObject& job, bool yes) {
  if (job.kind == JobKind::kMpiJob) return {{"runPolicy", {{"suspend", yes}}}};
  return {{"suspend", yes}};
}

}  // namespace pinion::cluster::elastic
