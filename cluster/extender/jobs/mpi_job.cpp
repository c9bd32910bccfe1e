// Kubeflow's MPIJob: one template for the launcher and one for all workers. The launcher is not of
// the gang, it may even be made after all workers run, unless it is a worker itself. The operator
// writes a hostfile with equal slots and keeps to it.
#include "cluster/extender/jobs/kinds.h"

namespace pinion::cluster::jobs {
namespace {

const Pointer kReplicas("/spec/mpiReplicaSpecs/Worker/replicas");
const Pointer kWorkerTemplate("/spec/mpiReplicaSpecs/Worker/template");
const Pointer kLauncherTemplate("/spec/mpiReplicaSpecs/Launcher/template");
const Pointer kSlots("/spec/slotsPerWorker");
const Pointer kLauncherWorks("/spec/runLauncherAsWorker");
const Pointer kCreation("/spec/launcherCreationPolicy");
const Pointer kSchedulingMinAvailable("/spec/runPolicy/schedulingPolicy/minAvailable");

Status read_counts(const json& object, JobObject& job) {
  const auto replicas = count_at(object, kReplicas);
  if (!replicas) return failure(replicas.error());
  const auto slots = count_at(object, kSlots);
  if (!slots) return failure(slots.error());
  job.workers_field = shown(kReplicas);
  if (*replicas) job.workers = **replicas + (job.launcher_works ? 1 : 0);
  // 1 is what the schema fills in, so nobody can tell whether somebody has stated it.
  if (slots->value_or(1) > 1) job.slots = **slots;
  return {};
}

std::string domain_of(const JobObject& job) {
  return "." + job.name + "." + job.name_space + ".svc";
}

}  // namespace

Status read_mpi_job(const json& object, JobObject& job) {
  if (object.value("apiVersion", "") != "kubeflow.org/v2beta1") {
    return failure(Errc::kInvalid, "only version kubeflow.org/v2beta1 of MPIJob is known");
  }
  for (const Pointer& at : {kLauncherTemplate, kWorkerTemplate}) {
    if (const auto found = object_at(object, at); !found) return failure(found.error());
  }
  const json* works = find(object, kLauncherWorks);
  job.launcher_works = works != nullptr && *works == true;
  const json* creation = find(object, kCreation);
  if (job.launcher_works && creation != nullptr && *creation == "WaitForWorkersReady") {
    return wrong_field(kCreation,
                       "WaitForWorkersReady with runLauncherAsWorker never starts: the launcher is "
                       "made when the workers run, and they start together with it");
  }
  job.templates = {
      {.at = kLauncherTemplate, .role = "launcher", .member = job.launcher_works, .starts = true},
      {.at = kWorkerTemplate, .role = "worker", .member = true, .starts = false}};
  return read_counts(object, job);
}

Status write_mpi_job(json& object, const JobObject& job, int workers, int slots) {
  const int replicas = workers - (job.launcher_works ? 1 : 0);
  if (replicas < 1) {
    return wrong_field(kLauncherWorks,
                       "one worker is all this job gets, and there must be one beside the "
                       "launcher: set it to false");
  }
  const auto least = count_at(object, kSchedulingMinAvailable);
  if (!least) return failure(least.error());
  if (least->value_or(0) > replicas + 1) {
    return wrong_field(kSchedulingMinAvailable, std::to_string(**least) + " is more than the " +
                                                    std::to_string(replicas + 1) +
                                                    " pods of the job");
  }
  object[kReplicas] = replicas;
  object[kSlots] = slots;
  return {};
}

HostName mpi_job_host(const JobObject& job) {
  return {.before = job.name + "-worker-", .after = domain_of(job)};
}

std::vector<std::string> mpi_job_hosts(const JobObject& job, int workers) {
  std::vector<std::string> hosts;
  if (job.launcher_works) hosts.push_back(job.name + "-launcher" + domain_of(job));
  const HostName name = mpi_job_host(job);
  for (int i = 0; static_cast<int>(hosts.size()) < workers; ++i) hosts.push_back(name.of(i));
  return hosts;
}

}  // namespace pinion::cluster::jobs
