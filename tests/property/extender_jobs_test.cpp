// Any request on any kind of job comes to a refusal with a reason, or to a job whose parts agree:
// the gang's size, the number of pods, the resources and the slots.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cluster/extender/jobs/gang.h"
#include "cluster/extender/jobs/hostfile.h"
#include "cluster/extender/scheduling/demand.h"
#include "policy/annotations.h"
#include "tests/property/topology_gen.h"

namespace pinion::cluster::jobs {
namespace {

using nlohmann::json;
using topology::one_in;
using topology::pick_below;

json pod_template() {
  json container = {{"name", "c"}};
  if (one_in(12)) container["resources"]["limits"]["cpu"] = std::to_string(1 + pick_below(8));
  if (one_in(12)) container["resources"]["limits"]["memory"] = "4Gi";
  if (one_in(4)) container["env"] = json::array({{{"name", "HYDRA_HOST_FILE"}, {"value", "x"}}});
  json pod = {{"spec", {{"containers", json::array({container})}}}};
  if (one_in(2)) pod["spec"]["subdomain"] = "s";
  if (one_in(3)) pod["metadata"]["annotations"]["pinion.dev/align"] = "l3";
  return pod;
}

// Stated now and then.
void set_count(json& to, const char* name) {
  if (one_in(5)) to[name] = 1 + pick_below(8);
}

json mpi_job() {
  json job = {{"apiVersion", "kubeflow.org/v2beta1"}, {"kind", "MPIJob"}};
  json& spec = job["spec"];
  spec["runLauncherAsWorker"] = one_in(2);
  set_count(spec, "slotsPerWorker");
  spec["mpiReplicaSpecs"]["Launcher"]["template"] = pod_template();
  json& worker = spec["mpiReplicaSpecs"]["Worker"];
  worker["template"] = pod_template();
  set_count(worker, "replicas");
  return job;
}

json volcano_job() {
  json job = {{"apiVersion", "batch.volcano.sh/v1alpha1"}, {"kind", "Job"}};
  json worker = {{"name", "worker"}, {"template", pod_template()}};
  set_count(worker, "replicas");
  job["spec"]["tasks"] = json::array({worker});
  if (one_in(2)) {
    job["spec"]["tasks"].push_back(
        {{"name", "master"}, {"replicas", 1}, {"template", pod_template()}});
  }
  if (one_in(2)) job["spec"]["plugins"]["svc"] = json::array();
  set_count(job["spec"], "minAvailable");
  return job;
}

json job_set() {
  json job = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"}, {"kind", "JobSet"}};
  json worker = {{"name", "workers"}};
  set_count(worker, "replicas");
  json& spec = worker["template"]["spec"];
  spec["template"] = pod_template();
  set_count(spec, "parallelism");
  job["spec"]["replicatedJobs"] = json::array({worker});
  return job;
}

json indexed_job() {
  json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
  job["spec"]["completionMode"] = "Indexed";
  job["spec"]["template"] = pod_template();
  set_count(job["spec"], "parallelism");
  return job;
}

json any_job() {
  const int kind = pick_below(4);
  json job = kind == 0   ? mpi_job()
             : kind == 1 ? volcano_job()
             : kind == 2 ? job_set()
                         : indexed_job();
  job["metadata"]["name"] = "j";
  json& annotations = job["metadata"]["annotations"];
  annotations[annotation::kTasks] = std::to_string(1 + pick_below(20));
  if (!one_in(8)) annotations[annotation::kMemoryPerTask] = "1Gi";
  if (one_in(3)) annotations[annotation::kCpusPerTask] = std::to_string(1 + pick_below(4));
  if (!one_in(4)) {
    annotations[annotation::kProfile] =
        std::vector{"cpu", "memory", "network"}[static_cast<std::size_t>(pick_below(3))];
  }
  if (!one_in(4)) {
    annotations[annotation::kPolicy] = std::vector{"none", "scale", "granularity",
                                                   "auto"}[static_cast<std::size_t>(pick_below(4))];
  }
  if (one_in(4)) annotations[annotation::kTaskGroups] = std::to_string(1 + pick_below(4));
  if (one_in(6)) annotations[annotation::kHostfile] = "none";
  return job;
}

Result<Granularity> on_four_nodes(const JobShape& job, Policy policy, int /*nodes*/,
                                  const NodeDemand& /*where*/) {
  return choose_granularity(job, policy == Policy::kAuto ? Policy::kGranularity : policy, 4);
}

int slots_in(const std::string& hostfile) {
  int sum = 0;
  constexpr std::string_view word = "slots=";
  for (auto at = hostfile.find(word); at != std::string::npos; at = hostfile.find(word, at + 1)) {
    sum += std::stoi(hostfile.substr(at + word.size()));
  }
  return sum;
}

void check_gang(const json& after, const Cut& cut) {
  const int workers = cut.decision.granularity.workers;
  int tasks = 0;
  for (const Worker& worker : cut.decision.workers) tasks += worker.tasks;
  RC_ASSERT(tasks == cut.request.tasks);
  // What is written on the job is read as what was decided.
  const auto again = read_job(after, "ns", cut.request);
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->workers.value_or(again->parts) == workers);
  const Fleet fleet;
  const Gang gang = gang_of(after, cut, {}, LockedFleet{.fleet = fleet});
  RC_ASSERT(gang.size() == static_cast<std::size_t>(workers));
  for (const topology::Request& request : gang) {
    RC_ASSERT(request.cpus == cut.decision.largest().tasks * cut.request.cpus_per_task);
    RC_ASSERT(job_of_gang(request.job) == "j");
  }
}

void check_hostfile(json after, const Cut& cut) {
  after["metadata"]["uid"] = "u";
  const auto again = read_cut_job(after);
  RC_ASSERT(again && *again);
  const auto map = hostfile_config_map(after, **again);
  RC_ASSERT(map.has_value());
  RC_ASSERT(map->has_value() == !cut.hostfile.empty());
  if (!*map) return;
  RC_ASSERT(slots_in((**map)["data"][kHostfileKey].get<std::string>()) == cut.request.tasks);
  RC_ASSERT((**map)["metadata"]["name"] == cut.hostfile);
}

void check_one() {
  const json job = any_job();
  const Options options{.scheduler = one_in(2) ? "pinion" : "", .policy = {}, .defaults = {}};
  const Mutation mutation = mutate(job, "ns", options, on_four_nodes);
  RC_ASSERT(mutation.kind != Mutation::Kind::kUntouched);
  if (mutation.kind == Mutation::Kind::kRefused) {
    RC_ASSERT(mutation.patch.empty());
    RC_ASSERT(!mutation.text.empty());
    return;
  }
  const json after = job.patch(mutation.patch);
  RC_ASSERT(mutate(after, "ns", options, on_four_nodes).kind == Mutation::Kind::kUntouched);
  check_gang(after, *mutation.cut);
  check_hostfile(after, *mutation.cut);
}

RC_GTEST_PROP(Mutation, LeavesAJobWhosePartsAgree, ()) {
  for (int i = 0; i < 20; ++i) check_one();
}

}  // namespace
}  // namespace pinion::cluster::jobs
