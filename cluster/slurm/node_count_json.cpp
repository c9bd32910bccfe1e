#include "cluster/slurm/node_count_json.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"

namespace pinion::slurm {
namespace {

using kube::json_at;
using kube::json_integer;
using kube::json_text;
using nlohmann::json;

constexpr const char* kManager = "pinion.dev/pinion-slurm";

std::optional<std::uint32_t> whole_number(const std::string& text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

int small(std::int64_t number) {
  return static_cast<int>(std::clamp<std::int64_t>(number, 0, kMostNodes));
}

std::optional<int> nodes_in(const json& job, const char* annotation) {
  const auto number = whole_number(json_text(job, "metadata", "annotations", annotation));
  return number ? std::optional(small(*number)) : std::nullopt;
}

}  // namespace

json job_object(const PodTemplate& all, const Ask& ask) {
  json annotations = {{annotation::kMinWorkers, std::to_string(ask.shape.nodes)},
                      {annotation::kMaxWorkers, std::to_string(ask.most)}};
  if (!ask.moldable) annotations[annotation::kAcknowledge] = "annotation";
  for (const auto& [name, value] : ask.wishes) {
    annotations[std::string(annotation::kPrefix) + name] = value;
  }
  json labels = placeholder_labels(all, ask.job, ask.attempt);
  labels[label::kElastic] = ask.moldable ? "moldable" : "malleable";
  json pod = placeholder_spec(all, ask.shape);
  pod["restartPolicy"] = "Never";  // a Job may have no other
  const json of_pod = {{annotation::kStrength, all.required ? "required" : "preferred"}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", ask.name},
            {"namespace", all.name_space},
            {"labels", labels},
            {"annotations", annotations}}},
          {"spec",
           {{"managedBy", kManager},
            {"suspend", true},
            {"completionMode", "Indexed"},
            {"parallelism", ask.shape.nodes},
            {"completions", ask.shape.nodes},
            {"template", {{"metadata", {{"annotations", of_pod}}}, {"spec", pod}}}}}};
}

bool is_ours(const json& job) {
  return json_text(job, "spec", "managedBy") == kManager;
}

std::optional<NodeCount> node_count_of(const PodTemplate& all, const json& job) {
  if (json_text(job, "metadata", "labels", label::kSlurmCluster) != all.cluster || !is_ours(job)) {
    return std::nullopt;
  }
  NodeCount count;
  count.name = json_text(job, "metadata", "name");
  count.uid = json_text(job, "metadata", "uid");
  count.version = json_text(job, "metadata", "resourceVersion");
  count.job = whole_number(json_text(job, "metadata", "labels", label::kSlurmJob)).value_or(0);
  count.attempt = json_text(job, "metadata", "labels", label::kSlurmAttempt);
  count.moldable = json_text(job, "metadata", "labels", label::kElastic) != "malleable";
  count.suspended = json_at(job, "spec", "suspend") == json(true);
  count.stated = std::max(1, small(json_integer(json_at(job, "spec"), "parallelism")));
  count.wanted = nodes_in(job, annotation::kWantedWorkers);
  if (count.wanted == 0) count.wanted.reset();
  count.acknowledged = nodes_in(job, annotation::kAcknowledgedWorkers);
  const json& status = json_at(job, "status");
  count.told = {.active = small(json_integer(status, "active")),
                .ready = small(json_integer(status, "ready")),
                .terminating = small(json_integer(status, "terminating"))};
  count.leaving = !json_text(job, "metadata", "deletionTimestamp").empty();
  return count;
}

json patch_of(const Report& report) {
  return {{"status",
           {{"active", report.told.active},
            {"ready", report.told.ready},
            {"terminating", report.told.terminating}}}};
}

json patch_of(const Acknowledge& acknowledge) {
  return {
      {"metadata",
       {{"resourceVersion", acknowledge.version},
        {"annotations", {{annotation::kAcknowledgedWorkers, std::to_string(acknowledge.nodes)}}}}}};
}

}  // namespace pinion::slurm
