#include "cluster/extender/jobs/job_object.h"

#include <algorithm>
#include <array>

#include "base/words.h"
#include "cluster/extender/jobs/kinds.h"
#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_at;
using kube::json_text;

struct KindName {
  JobKind kind;
  std::string_view group;
  std::string_view name;
  std::string_view plural;
};

constexpr std::array kKindNames{KindName{JobKind::kMpiJob, "kubeflow.org", "MPIJob", "mpijobs"},
                                KindName{JobKind::kVolcanoJob, "batch.volcano.sh", "Job", "jobs"},
                                KindName{JobKind::kJobSet, "jobset.x-k8s.io", "JobSet", "jobsets"},
                                KindName{JobKind::kIndexedJob, "batch", "Job", "jobs"},
                                KindName{JobKind::kPod, "", "Pod", "pods"}};

std::string_view group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

// Not `Job` alone: two groups have a kind of that name.
std::optional<JobKind> kind_of(std::string_view api_version, std::string_view name) {
  for (const KindName& one : kKindNames) {
    if (one.name == name && one.group == group_of(api_version)) return one.kind;
  }
  return std::nullopt;
}

Status read_kind(const json& object, const JobRequest& request, JobObject& job) {
  switch (job.kind) {
    case JobKind::kMpiJob:
      return read_mpi_job(object, job);
    case JobKind::kVolcanoJob:
      return read_volcano_job(object, request, job);
    case JobKind::kJobSet:
      return read_job_set(object, request, job);
    case JobKind::kIndexedJob:
      return read_indexed_job(object, job);
    case JobKind::kPod:
      break;
  }
  return read_pod(object, job);
}

// A DNS label or subdomain as the API server has them in names.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

}  // namespace

std::optional<JobKind> kind_of(const json& object) {
  return kind_of(json_text(object, "apiVersion"), json_text(object, "kind"));
}

bool is_child(const json& object) {
  const json& owners = json_at(object, "metadata", "ownerReferences");
  return owners.is_array() && std::any_of(owners.begin(), owners.end(), [](const json& owner) {
           const auto kind = kind_of(json_text(owner, "apiVersion"), json_text(owner, "kind"));
           return json_at(owner, "controller") == true && kind && *kind != JobKind::kPod;
         });
}

Result<JobObject> read_job(const json& object, const std::string& name_space,
                           const JobRequest& request) {
  JobObject job;
  job.kind = *kind_of(object);
  job.name = json_text(object, "metadata", "name");
  job.name_space = json_text(object, "metadata", "namespace");
  if (job.name_space.empty()) job.name_space = name_space;
  if (job.name.empty() && job.kind != JobKind::kPod) {
    return failure(Errc::kInvalid,
                   "metadata.name: missing, and generateName; the job's gang and its hosts are "
                   "named after it");
  }
  if (Status good = read_kind(object, request, job); !good) return failure(std::move(good.error()));
  if (job.workers && *job.workers < 1) {
    return failure(Errc::kInvalid, job.workers_field + ": 0 workers");
  }
  return job;
}

Status write_workers(json& object, const JobObject& job, int workers, int slots) {
  switch (job.kind) {
    case JobKind::kMpiJob:
      return write_mpi_job(object, job, workers, slots);
    case JobKind::kVolcanoJob:
      return write_volcano_job(object, job, workers);
    case JobKind::kJobSet:
      return write_job_set(object, job, workers);
    case JobKind::kIndexedJob:
      return write_indexed_job(object, workers);
    case JobKind::kPod:
      break;
  }
  return {};
}

std::optional<HostName> host_name_of(const json& object, const JobObject& job) {
  switch (job.kind) {
    case JobKind::kMpiJob:
      return mpi_job_host(job);
    case JobKind::kVolcanoJob:
      return volcano_host(object, job);
    case JobKind::kIndexedJob:
      return indexed_job_host(object, job);
    case JobKind::kJobSet:
    case JobKind::kPod:
      break;
  }
  return {};
}

std::vector<std::string> hosts_of(const json& object, const JobObject& job, int workers) {
  if (job.kind == JobKind::kMpiJob) return mpi_job_hosts(job, workers);
  if (job.kind == JobKind::kJobSet) return job_set_hosts(object, job, workers);
  std::vector<std::string> hosts;
  const auto name = host_name_of(object, job);
  for (int i = 0; name && i < workers; ++i) hosts.push_back(name->of(i));
  return hosts;
}

Result<std::size_t> find_workers(const std::vector<std::string>& names, const std::string& wanted,
                                 const Pointer& at) {
  constexpr std::array<std::string_view, 3> usual{"worker", "workers", "mpiworker"};
  const auto position = [&](auto found) {
    return static_cast<std::size_t>(std::distance(names.begin(), found));
  };
  const auto named = std::find(names.begin(), names.end(), wanted);
  if (named != names.end()) return position(named);
  const std::string list = joined(names, ", ");
  if (!wanted.empty()) {
    return wrong_field(at, "none is called '" + wanted + "'; there are: " + list);
  }
  if (names.size() == 1) return std::size_t{0};
  const auto like_worker = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(usual.begin(), usual.end(), name) != usual.end();
  });
  if (like_worker != names.end()) return position(like_worker);
  return wrong_field(at,
                     "which of them are the workers? Set annotation pinion.dev/worker-role to "
                     "one of: " +
                         list);
}

Result<std::optional<CutJob>> read_cut_job(const json& object) {
  using Nothing = std::optional<CutJob>;
  if (!kind_of(object) ||
      json_text(object, "metadata", "annotations", annotation::kDecided).empty()) {
    return Nothing();
  }
  auto request = read_job_request(object);
  if (!request) return failure(std::move(request.error()));
  if (!*request) return Nothing();
  auto job = read_job(object, {}, **request);
  if (!job) return failure(std::move(job.error()));
  CutJob cut{.request = std::move(**request), .job = std::move(*job)};
  if (cut.job.kind == JobKind::kIndexedJob) {
    const std::int64_t succeeded = kube::json_integer(object, "status", "succeeded");
    cut.succeeded = static_cast<int>(std::clamp<std::int64_t>(succeeded, 0, cut.workers()));
  }
  return Nothing(std::move(cut));
}

std::string owner_text(const json& object, const JobObject& job) {
  for (const KindName& one : kKindNames) {
    if (one.kind != job.kind) continue;
    return json_text(object, "apiVersion") + "/" + std::string(one.plural) + "/" + job.name;
  }
  return {};
}

std::optional<std::string> owner_path(const std::string& owner, const std::string& name_space) {
  for (const KindName& one : kKindNames) {
    const std::string head = std::string(one.group) + "/";
    if (one.group.empty() || !owner.starts_with(head)) continue;
    const std::string middle = "/" + std::string(one.plural) + "/";
    const auto plural = owner.find(middle);
    if (plural == std::string::npos || plural < head.size()) continue;
    const std::string version = owner.substr(head.size(), plural - head.size());
    const std::string name = owner.substr(plural + middle.size());
    if (!is_name(version) || !is_name(name) || !is_name(name_space)) return std::nullopt;
    std::string path = "/apis/";
    path.append(head).append(version).append("/namespaces/").append(name_space);
    return path.append(middle).append(name);
  }
  return std::nullopt;
}

std::optional<json> owner_reference(const json& object, const JobObject& job) {
  std::string uid = kube::json_text(object, "metadata", "uid");
  if (uid.empty()) return std::nullopt;
  return json{{"apiVersion", kube::json_text(object, "apiVersion")},
              {"kind", kube::json_text(object, "kind")},
              {"name", job.name},
              {"uid", std::move(uid)}};
}

}  // namespace pinion::cluster::jobs
