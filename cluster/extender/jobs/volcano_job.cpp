// Volcano's Job: a list of tasks, each with a template. Its PodGroup's minMember is minAvailable,
// and without one it is 0 and holds nothing together.
#include "cluster/extender/jobs/kinds.h"

namespace pinion::cluster::jobs {
namespace {

const Pointer kTasksAt("/spec/tasks");
const Pointer kMinAvailable("/spec/minAvailable");

std::string name_at(const json& task, std::size_t index) {
  const auto name = task.is_object() ? task.find("name") : task.end();
  return name != task.end() && name->is_string() ? name->get<std::string>()
                                                 : "default" + std::to_string(index);
}

std::vector<std::string> names_of(const json& tasks) {
  std::vector<std::string> names;
  for (const json& task : tasks) names.push_back(name_at(task, names.size()));
  return names;
}

// The mpi plugin says which task works: "--worker=mpiworker".
std::string said_by_plugin(const json& object) {
  constexpr std::string_view flag = "--worker=";
  const json* flags = find(object, Pointer("/spec/plugins/mpi"));
  if (flags == nullptr || !flags->is_array()) return {};
  for (const json& one : *flags) {
    const auto* text = one.get_ptr<const std::string*>();
    if (text != nullptr && text->starts_with(flag)) return text->substr(flag.size());
  }
  return {};
}

Pointer worker_task(const JobObject& job) {
  for (const PodTemplate& one : job.templates) {
    if (one.member) return one.at.parent_pointer();
  }
  return Pointer();
}

// Pods of all tasks.
Result<int> sum_of_replicas(const json& object) {
  int sum = 0;
  for (std::size_t i = 0; i < object.at(kTasksAt).size(); ++i) {
    const auto replicas = count_at(object, kTasksAt / i / "replicas");
    if (!replicas) return failure(replicas.error());
    sum += replicas->value_or(0);
    if (sum > kMaxTasks) return wrong_field(kTasksAt, "too many pods");
  }
  return sum;
}

// A minimum that was the number of all pods stays so; a smaller one that was stated stays.
Status follow(json& object, const Pointer& at, int before, int now, bool always) {
  const auto least = count_at(object, at);
  if (!least) return failure(least.error());
  if (!*least && !always) return {};
  if (!*least || **least == before) {
    object[at] = now;
  } else if (**least > now) {
    return wrong_field(at, std::to_string(**least) + " is more than the " + std::to_string(now) +
                               " pods that there are");
  }
  return {};
}

}  // namespace

Status read_volcano_job(const json& object, const JobRequest& request, JobObject& job) {
  const auto tasks = list_at(object, kTasksAt);
  if (!tasks) return failure(tasks.error());
  const std::vector<std::string> names = names_of(**tasks);
  const std::string wanted =
      request.worker_role.empty() ? said_by_plugin(object) : request.worker_role;
  const auto workers = find_workers(names, wanted, kTasksAt);
  if (!workers) return failure(workers.error());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Pointer at = kTasksAt / i / "template";
    if (const auto found = object_at(object, at); !found) return failure(found.error());
    const bool member = i == *workers;
    job.templates.push_back(
        {.at = at, .role = member ? "worker" : names[i], .member = member, .starts = true});
  }
  job.worker_name = names[*workers];
  const Pointer at = kTasksAt / *workers / "replicas";
  auto replicas = count_at(object, at);
  if (!replicas) return failure(replicas.error());
  job.workers_field = shown(at);
  if (replicas->value_or(0) > 0) job.workers = **replicas;
  return {};
}

Status write_volcano_job(json& object, const JobObject& job, int workers) {
  const Pointer task = worker_task(job);
  const auto before = sum_of_replicas(object);
  if (!before) return failure(before.error());
  const auto had = count_at(object, task / "replicas");
  if (!had) return failure(had.error());
  object[task / "replicas"] = workers;
  const int now = *before - had->value_or(0) + workers;
  if (Status good = follow(object, task / "minAvailable", had->value_or(0), workers, false);
      !good) {
    return good;
  }
  return follow(object, kMinAvailable, *before, now, true);
}

std::optional<HostName> volcano_host(const json& object, const JobObject& job) {
  // Without the svc plugin there is no Service, and nothing resolves.
  if (find(object, Pointer("/spec/plugins/svc")) == nullptr) return {};
  return HostName{.before = job.name + "-" + job.worker_name + "-", .after = "." + job.name};
}

}  // namespace pinion::cluster::jobs
