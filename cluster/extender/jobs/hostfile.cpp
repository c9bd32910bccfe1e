#include "cluster/extender/jobs/hostfile.h"

#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"

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

// Slots for the workers that the job has now.
Result<json> data_of(const json& object, const CutJob& cut) {
  const int count = cut.workers();
  JobShape tasks;
  tasks.tasks = cut.request.tasks;
  tasks.cpus_per_task = cut.request.cpus_per_task;
  const auto workers = split(tasks, count);
  if (!workers) return failure(workers.error());
  const std::vector<std::string> hosts = hosts_of(object, cut.job, count);
  auto text = hostfile(hosts, *workers);
  if (!text) return failure(std::move(text.error()));
  return json{{kHostfileKey, *text}, {kMachinefileKey, machinefile(hosts, *workers)}};
}

}  // namespace

std::string hostfile_name(const JobObject& job) {
  return job.name + "-pinion";
}

bool needs_hostfile(const json& object, const JobObject& job, const JobRequest& request,
                    const Decision& decision) {
  if (!request.hostfile) return false;
  if (job.kind == JobKind::kMpiJob) return !decision.even();
  return !hosts_of(object, job, decision.granularity.workers).empty();
}

Result<std::optional<json>> hostfile_config_map(const json& object, const CutJob& cut) {
  using Nothing = std::optional<json>;
  const std::string name = json_text(object, "metadata", "annotations", annotation::kHostfile);
  if (name.empty() || name == "none") return Nothing();
  const auto owner = owner_reference(object, cut.job);
  if (!owner) return failure(Errc::kInvalid, "metadata.uid: missing");
  auto data = data_of(object, cut);
  if (!data) return failure(std::move(data.error()).within("hostfile of " + cut.job.name));
  return Nothing(json{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata",
                       {{"name", hostfile_name(cut.job)},
                        {"namespace", cut.job.name_space},
                        {"ownerReferences", json::array({*owner})}}},
                      {"data", std::move(*data)}});
}

}  // namespace pinion::cluster::jobs
