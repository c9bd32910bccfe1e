#include "tests/e2e/controllers.h"

#include <stdexcept>

#include "cluster/extender/kube/json_read.h"
#include "tests/lab/files.h"
#include "tests/support/places.h"

namespace pinion::e2e {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string name_of(const json& object) {
  return json_text(object, "metadata", "name");
}

// The captured ones, without that of the service account, behind the template's own.
json joined(const json& own, const json& added) {
  json all = own.is_array() ? own : json::array();
  for (const json& one : added) {
    if (!json_text(one, "name").starts_with("kube-api-access")) all.push_back(one);
  }
  return all;
}

json container_of(json own, const json& added) {
  for (const char* list : {"env", "volumeMounts"}) {
    own[list] = joined(json_at(own, list), json_at(added, list));
  }
  if (!own.contains("command") && !own.contains("args") && added.contains("command")) {
    own["command"] = added.at("command");
  }
  return own;
}

// Into a captured pod, or a captured Job's template, comes what the user's template says.
void fill(json& pod, const json& pod_template) {
  for (const char* map : {"labels", "annotations"}) {
    const json& own = json_at(pod_template, "metadata", map);
    if (own.is_object()) pod["metadata"][map].update(own);
  }
  json spec = pod.at("spec");
  const json& own = pod_template.at("spec");
  const json added = spec.at("containers").at(0);
  spec["volumes"] = joined(json_at(own, "volumes"), json_at(spec, "volumes"));
  spec["containers"] = own.at("containers");
  spec["containers"][0] = container_of(own.at("containers").at(0), added);
  for (const auto& [field, value] : own.items()) {
    if (field != "volumes" && field != "containers") spec[field] = value;
  }
  pod["spec"] = std::move(spec);
}

void give_to(json& object, const json& owner) {
  object["metadata"]["ownerReferences"] =
      json::array({{{"apiVersion", owner.at("apiVersion")},
                    {"kind", owner.at("kind")},
                    {"name", name_of(owner)},
                    {"uid", json_text(owner, "metadata", "uid")},
                    {"controller", true},
                    {"blockOwnerDeletion", true}}});
}

void set_env(json& container, const std::string& name, const std::string& value) {
  for (json& variable : container.at("env")) {
    if (json_text(variable, "name") == name) variable["value"] = value;
  }
}

// --- MPIJob

constexpr const char* kReplicaIndex = "training.kubeflow.org/replica-index";

bool launcher_works(const json& job) {
  return json_at(job, "spec", "runLauncherAsWorker") == true;
}

// What the operator adds for another MPI than Open MPI.
json intel_env(const std::string& slots) {
  return json::array(
      {{{"name", "K_MPI_JOB_ROLE"}, {"value", "launcher"}},
       {{"name", "I_MPI_HYDRA_HOST_FILE"}, {"value", "/etc/mpi/hostfile"}},
       {{"name", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}, {"value", "-o ConnectionAttempts=10"}},
       {{"name", "I_MPI_PERHOST"}, {"value", slots}}});
}

json mpi_launcher(const json& job) {
  json made = captured("mpijob_launcher_job", name_of(job));
  give_to(made, job);
  json& pod = made["spec"]["template"];
  pod["metadata"].erase("ownerReferences");
  if (launcher_works(job)) pod["metadata"]["labels"][kReplicaIndex] = "0";
  const std::string slots = job.at("spec").at("slotsPerWorker").dump();
  if (job.at("spec").at("mpiImplementation") == "Intel") {
    pod["spec"]["containers"][0]["env"] = intel_env(slots);
  }
  fill(pod, job.at("spec").at("mpiReplicaSpecs").at("Launcher").at("template"));
  set_env(pod["spec"]["containers"][0], "OMPI_MCA_orte_set_default_slots", slots);
  return made;
}

std::vector<json> mpi_workers(const json& job) {
  const json& workers = job.at("spec").at("mpiReplicaSpecs").at("Worker");
  std::vector<json> pods;
  for (int i = 0; i < workers.at("replicas"); ++i) {
    json pod = captured("mpijob_worker_pod", name_of(job));
    give_to(pod, job);
    fill(pod, workers.at("template"));
    pod["metadata"]["name"] = pod["spec"]["hostname"] =
        name_of(job) + "-worker-" + std::to_string(i);
    pod["metadata"]["labels"][kReplicaIndex] = std::to_string(launcher_works(job) ? i + 1 : i);
    pods.push_back(std::move(pod));
  }
  return pods;
}

// --- Volcano

std::string worker_hosts(const json& job) {
  std::string hosts;
  for (int i = 0; i < job.at("spec").at("tasks").at(1).at("replicas"); ++i) {
    hosts +=
        (i > 0 ? "," : "") + name_of(job) + "-mpiworker-" + std::to_string(i) + "." + name_of(job);
  }
  return hosts;
}

json volcano_pod(const json& job, const json& task, int index) {
  const std::string task_name = json_text(task, "name");
  const bool worker = task_name == "mpiworker";
  json pod = captured(worker ? "vcjob_worker_pod" : "vcjob_master_pod", name_of(job));
  give_to(pod, job);
  fill(pod, task.at("template"));
  pod["metadata"]["name"] = pod["spec"]["hostname"] =
      name_of(job) + "-" + task_name + "-" + std::to_string(index);
  for (const char* map : {"labels", "annotations"}) {
    pod["metadata"][map]["volcano.sh/task-index"] = std::to_string(index);
  }
  pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] =
      name_of(job) + "-" + json_text(job, "metadata", "uid");
  set_env(pod["spec"]["containers"][0], "MPI_HOST", worker_hosts(job));
  return pod;
}

std::vector<json> volcano_pods(const json& job, const std::string& task_name) {
  std::vector<json> pods;
  for (const json& task : job.at("spec").at("tasks")) {
    if (json_text(task, "name") != task_name) continue;
    for (int i = 0; i < task.at("replicas"); ++i) pods.push_back(volcano_pod(job, task, i));
  }
  return pods;
}

// --- JobSet

json job_of_set(const json& set, const json& replicated, int index) {
  const std::string role = json_text(replicated, "name");
  json made = captured("jobset_child_job", name_of(set));
  give_to(made, set);
  made["metadata"]["name"] = name_of(set) + "-" + role + "-" + std::to_string(index);
  const json& spec = replicated.at("template").at("spec");
  for (const char* field : {"parallelism", "completions", "backoffLimit"}) {
    made["spec"][field] = spec.at(field);
  }
  json& pod = made["spec"]["template"];
  pod["metadata"]["labels"].erase("app.example/part");
  fill(pod, spec.at("template"));
  const auto mark = [&](const std::string& name, const json& value) {
    for (json* metadata : {&made["metadata"], &pod["metadata"]}) {
      for (const char* map : {"labels", "annotations"}) {
        (*metadata)[map]["jobset.sigs.k8s.io/" + name] = value;
      }
    }
  };
  const int before = role == "leader" ? 0 : 1;  // Jobs of the set
  mark("jobset-uid", json_text(set, "metadata", "uid"));
  mark("replicatedjob-name", role);
  mark("replicatedjob-replicas", std::to_string(replicated.value("replicas", 1)));
  mark("job-index", std::to_string(index));
  mark("job-global-index", std::to_string(before + index));
  mark("job-group-index", std::to_string(before + index));
  return made;
}

std::vector<json> jobs_of_set(const json& set, const std::string& role) {
  std::vector<json> jobs;
  for (const json& replicated : set.at("spec").at("replicatedJobs")) {
    if (json_text(replicated, "name") != role) continue;
    for (int i = 0; i < replicated.value("replicas", 1); ++i) {
      jobs.push_back(job_of_set(set, replicated, i));
    }
  }
  return jobs;
}

}  // namespace

json captured(const std::string& body, const std::string& job) {
  const auto text =
      lab::read_file(test_support::in_checkout("tests/unit/extender_jobs/data/" + body + ".json"));
  if (!text) throw std::runtime_error(text.error().text);
  const json review = json::parse(*text);
  const json& object = review.at("request").at("object");
  std::string renamed = object.dump();
  replace_all(renamed, json_text(object, "metadata", "namespace"), "default");
  replace_all(renamed, "j1", job);  // what each captured job is called
  json made = json::parse(renamed);
  for (const char* key : {"uid", "creationTimestamp", "generation", "managedFields"}) {
    made["metadata"].erase(key);
  }
  made.erase("status");
  return made;
}

std::vector<json> launchers_of(const json& job) {
  if (job.at("kind") == "MPIJob") return {mpi_launcher(job)};
  if (job.at("kind") == "JobSet") return jobs_of_set(job, "leader");
  return volcano_pods(job, "mpimaster");
}

std::vector<json> workers_of(const json& job) {
  if (job.at("kind") == "MPIJob") return mpi_workers(job);
  if (job.at("kind") == "JobSet") return jobs_of_set(job, "workers");
  return volcano_pods(job, "mpiworker");
}

}  // namespace pinion::e2e
