#include "cluster/extender/elastic/telling.h"

#include <algorithm>
#include <cmath>

#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"

namespace pinion::cluster::elastic {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

json annotated(const ElasticObject& job, const char* name, json value) {
  return {{"metadata",
           {{"resourceVersion", job.version}, {"annotations", {{name, std::move(value)}}}}}};
}

}  // namespace

std::string size_map_name(const std::string& job) {
  return job + "-elastic";
}

bool mounts_size(const json& pod, const std::string& job) {
  const std::string name = size_map_name(job);
  const json& volumes = json_at(pod, "spec", "volumes");
  return volumes.is_array() && std::any_of(volumes.begin(), volumes.end(), [&](const json& one) {
           return json_text(one, "configMap", "name") == name;
         });
}

int size_to_tell(const ElasticObject& job) {
  if (!job.wanted) return job.stated;
  const bool arrived = job.stated == *job.wanted && job.is_whole();
  return !job.grows() || job.before == 0 || arrived ? *job.wanted : job.before;
}

SizeTold size_told(const ElasticObject& job) {
  const int told = size_to_tell(job);
  return {.workers = told,
          // Somebody may have resized it by hand, or lowered the maximum.
          .max_workers = std::max(job.max_workers, told),
          .pes_per_worker = job.pes_per_worker,
          .host = job.host};
}

json size_map(const ElasticObject& job) {
  const SizeTold size = size_told(job);
  const int told = size.workers;
  json data = {{kWantedFile, std::to_string(told) + "\n"}};
  if (job.host) {
    std::string hosts;
    std::string nodelist = "group main\n";
    for (int i = 0; i < size.max_workers; ++i) {
      const std::string host = job.host->of(i);
      if (i < told) hosts += host + "\n";
      nodelist += "host " + host + " ++cpus " + std::to_string(job.pes_per_worker) + "\n";
    }
    data[kHostsFile] = hosts;
    data[kNodelistFile] = nodelist;
  }
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", size_map_name(job.name)},
            {"namespace", job.name_space},
            {"ownerReferences", json::array({job.owner})}}},
          {"data", data}};
}

bool is_to_be_asked(const ElasticObject& job) {
  if (!job.is_asked() || job.suspended || job.over || !job.left_alone.empty()) return false;
  if (job.sent) return job.is_pending();
  if (!job.wanted || job.before == 0) return false;
  if (job.acknowledged == job.wanted || job.acknowledged == job.before) return false;
  return job.grows() ? job.stated == *job.wanted && job.is_whole() : job.stated == job.before;
}

json question(const ElasticObject& job) {
  return {{"namespace", job.name_space},
          {"job", job.name},
          {"workers", job.before},
          {"wantedWorkers", *job.wanted}};
}

bool is_to_tell_progress(const ElasticObject& job) {
  return job.channel.kind == Channel::Kind::kHttp && !job.over && !job.suspended && job.ready > 0 &&
         job.left_alone.empty();
}

Result<Said> said_in(const json& answer) {
  const auto amount = [&](const char* name) {
    const json& value = json_at(answer, name);
    return value.is_number() ? value.get<double>() : -1;
  };
  const auto is_there = [&](const char* name) { return !json_at(answer, name).is_null(); };
  Said said;
  bool good = is_there("done") || is_there("workers");
  if (is_there("done") || is_there("whole")) {
    Progress& progress = said.progress.emplace(Progress{.done = amount("done")});
    good = good && progress.done >= 0 && progress.done <= kLargestAmount;
    if (is_there("whole")) {
      progress.whole = amount("whole");
      good = good && *progress.whole >= kLeastAmount && *progress.whole <= kLargestAmount;
    }
  }
  if (is_there("workers")) {
    const double workers = amount("workers");
    good = good && workers >= 1 && workers <= kLargestSize && workers == std::floor(workers);
    if (good) said.workers = static_cast<int>(workers);
  }
  if (good) return said;
  return failure(
      Errc::kInvalid,
      "its answer is to be {\"done\": D}, {\"workers\": N} or both, with or without "
      "\"whole\": W beside D; D and W are numbers from 0 to 1e15, W above 0, and N is from "
      "1 to " +
          std::to_string(kLargestSize));
}

json acknowledged(const ElasticObject& job, int workers) {
  return annotated(job, annotation::kAcknowledgedWorkers, std::to_string(workers));
}

json note_sent(const ElasticObject& job, const Sent& what) {
  return annotated(job, annotation::kRescaleSent, sent_text(what));
}

json note_wish(const ElasticObject& job, std::optional<int> workers) {
  return annotated(job, annotation::kAskedWorkers,
                   workers ? json(std::to_string(*workers)) : json(nullptr));
}

json nothing_sent(const ElasticObject& job, std::int64_t now_ms) {
  json patch = annotated(job, annotation::kRescaleSent, nullptr);
  if (job.wanted) {
    patch["metadata"]["annotations"][annotation::kRescaledAt] = std::to_string(now_ms);
  }
  return patch;
}

}  // namespace pinion::cluster::elastic
