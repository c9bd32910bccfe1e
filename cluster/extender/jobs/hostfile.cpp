#include "cluster/extender/jobs/hostfile.h"

#include "cluster/extender/jobs/annotations.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_text;
using nlohmann::json;

std::string machinefile(const std::vector<std::string>& hosts, const std::vector<Worker>& workers) {
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    text += hosts[i] + ":" + std::to_string(workers[i].tasks) + "\n";
  }
  return text;
}

json owner_of(const json& object, const JobObject& job) {
  return {{"apiVersion", json_text(object, "apiVersion")},
          {"kind", json_text(object, "kind")},
          {"name", job.name},
          {"uid", json_text(object, "metadata", "uid")}};
}

// Slots for the workers that the job has now.
Result<json> data_of(const json& object, const JobObject& job, const JobWish& wish) {
  const int count = job.workers.value_or(job.parts);  // where each part has one
  JobShape tasks;
  tasks.tasks = wish.tasks;
  tasks.cpus_per_task = wish.cpus_per_task;
  const auto workers = split(tasks, count);
  if (!workers) return failure(workers.error());
  const std::vector<std::string> hosts = hosts_of(object, job, count);
  auto text = hostfile(hosts, *workers);
  if (!text) return failure(std::move(text.error()));
  return json{{kHostfileKey, *text}, {kMachinefileKey, machinefile(hosts, *workers)}};
}

}  // namespace

std::string hostfile_name(const JobObject& job) {
  return job.name + "-pinion";
}

bool needs_hostfile(const json& object, const JobObject& job, const JobWish& wish,
                    const Decision& decision) {
  if (!wish.hostfile) return false;
  if (job.kind == JobKind::kMpiJob) return !decision.even();
  return !hosts_of(object, job, decision.granularity.workers).empty();
}

Result<std::optional<json>> hostfile_config_map(const json& object) {
  using Nothing = std::optional<json>;
  const std::string name = json_text(object, "metadata", "annotations", kHostfile);
  if (name.empty() || name == "none" || !kind_of(object)) return Nothing();
  const auto wish = read_wish(object);
  if (!wish) return failure(wish.error());
  if (!*wish) return Nothing();
  const auto job = read_job(object, {}, **wish);
  if (!job) return failure(job.error());
  if (json_text(object, "metadata", "uid").empty()) {
    return failure(Errc::kInvalid, "metadata.uid: missing");
  }
  auto data = data_of(object, *job, **wish);
  if (!data) return failure(std::move(data.error()).within("hostfile of " + job->name));
  return Nothing(json{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata",
                       {{"name", hostfile_name(*job)},
                        {"namespace", job->name_space},
                        {"ownerReferences", json::array({owner_of(object, *job)})}}},
                      {"data", std::move(*data)}});
}

}  // namespace pinion::cluster::jobs
