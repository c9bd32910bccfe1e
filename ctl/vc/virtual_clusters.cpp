#include "ctl/vc/virtual_clusters.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"
#include "policy/lending.h"

namespace pinion::ctl {
namespace {

using kube::json_at;
using kube::json_text;
using nlohmann::json;

constexpr const char* kName = "app.kubernetes.io/name";
constexpr const char* kInstance = "app.kubernetes.io/instance";
constexpr const char* kComponent = "app.kubernetes.io/component";

std::string label_of(const json& pod, const char* name) {
  return json_text(pod, "metadata", "labels", name);
}

// Of the first container that is not started, and of its phase where none says why.
std::string trouble_of(const json& pod) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const json& each : json_at(pod, "status", list)) {
      std::string reason = json_text(each, "state", "waiting", "reason");
      if (!reason.empty() && reason != "PodInitializing") return reason;
    }
  }
  std::string phase = json_text(pod, "status", "phase");
  return phase.empty() ? "Pending" : phase == "Running" ? "not ready" : phase;
}

std::optional<std::uint32_t> number_in(const std::string& text) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int64_t cpus_of(const json& pod) {
  constexpr std::int64_t most = 1'000'000;  // whatever somebody writes
  std::int64_t cpus = 0;
  for (const json& container : json_at(pod, "spec", "containers")) {
    const auto asked = whole_quantity(json_text(container, "resources", "requests", "cpu"));
    cpus += std::clamp<std::int64_t>(asked.value_or(0), 0, most);
  }
  return cpus;
}

bool runs(const json& pod, const std::string& container) {
  for (const json& each : json_at(pod, "status", "containerStatuses")) {
    if (json_text(each, "name") == container) return json_at(each, "state", "running").is_object();
  }
  return false;
}

// The agent lends once both containers run; `nodes`: Slurm's pods of the chart, if it is there.
bool lends(const json& pod, const std::vector<const json*>& nodes) {
  const auto to =
      policy::parse_lend_to(json_text(pod, "metadata", "annotations", annotation::kLendTo));
  if (!to || !runs(pod, "cores")) return false;
  return nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [&](const json* node) {
           return json_text(*node, "spec", "nodeName") == json_text(pod, "spec", "nodeName") &&
                  to->means_pod(json_text(*node, "metadata", "name")) && runs(*node, to->container);
         });
}

std::string why_unscheduled(const json& pod) {
  for (const json& condition : json_at(pod, "status", "conditions")) {
    if (json_text(condition, "type") != "PodScheduled" ||
        json_text(condition, "status") != "False") {
      continue;
    }
    const std::string reason = json_text(condition, "reason");
    // Why the gang waits stands in an event, which the bridge writes on the job.
    if (reason == "SchedulingGated") return "it is not planned yet; squeue -o %k says why";
    const std::string message = json_text(condition, "message");
    return message.empty() ? reason : message;
  }
  return "";
}

// A job that is placed anew has pods of two attempts for a moment: the old ones are being deleted.
struct Gathered {
  VirtualJob job;
  std::uint32_t running = 0;
  std::uint32_t needed = 1;
};

void gather(const json& pod, bool lends, Gathered& all) {
  all.job.cpus += cpus_of(pod);
  all.job.lent += lends ? cpus_of(pod) : 0;
  const auto size =
      number_in(json_text(pod, "metadata", "annotations", annotation::kGangSize)).value_or(1);
  all.needed = std::max(all.needed, size);
  if (json_text(pod, "status", "phase") == "Running") ++all.running;
  std::string node = json_text(pod, "spec", "nodeName");
  if (!node.empty()) all.job.nodes.push_back(std::move(node));
  if (all.job.why.empty()) all.job.why = why_unscheduled(pod);
}

VirtualJob job_of(Gathered all) {
  std::sort(all.job.nodes.begin(), all.job.nodes.end());
  all.job.runs = all.running >= all.needed;
  if (all.job.runs) all.job.why.clear();
  return std::move(all.job);
}

void add_part(const json& pod, VirtualCluster& cluster) {
  const bool ready = kube::has_condition(pod, "Ready");
  const std::string component = label_of(pod, kComponent);
  if (component == "controller") {
    cluster.controller = ready ? "ready" : trouble_of(pod);
  } else if (component == "node") {
    ++cluster.nodes;
    cluster.ready_nodes += ready ? 1 : 0;
  }
}

}  // namespace

int VirtualCluster::running() const {
  return static_cast<int>(
      std::count_if(jobs.begin(), jobs.end(), [](const VirtualJob& job) { return job.runs; }));
}

int VirtualCluster::waiting() const {
  return static_cast<int>(jobs.size()) - running();
}

std::int64_t VirtualCluster::cpus_lent() const {
  return std::accumulate(jobs.begin(), jobs.end(), std::int64_t{0},
                         [](std::int64_t sum, const VirtualJob& job) { return sum + job.lent; });
}

std::int64_t VirtualCluster::cpus_wanted() const {
  return std::accumulate(
      jobs.begin(), jobs.end(), std::int64_t{0},
      [](std::int64_t sum, const VirtualJob& job) { return sum + job.cpus - job.lent; });
}

Result<std::vector<VirtualCluster>> read_virtual_clusters(const std::string& text) {
  const auto document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json_at(document, "items").is_array()) {
    return failure(Errc::kInvalid, "the answer is no list of objects");
  }
  using Key = std::pair<std::string, std::string>;  // namespace, name
  std::map<Key, VirtualCluster> clusters;
  std::map<Key, std::vector<const json*>> placeholders;
  std::map<Key, std::vector<const json*>> nodes;  // Slurm's
  for (const json& pod : document["items"]) {
    const std::string phase = json_text(pod, "status", "phase");
    const bool over = phase == "Failed" || phase == "Succeeded";
    if (over || !json_text(pod, "metadata", "deletionTimestamp").empty()) continue;
    const bool placeholder = label_of(pod, kName) == "pinion-placeholder";
    const std::string name = label_of(pod, placeholder ? label::kSlurmCluster : kInstance);
    if (name.empty() || (placeholder && !number_in(label_of(pod, label::kSlurmJob)))) continue;
    const Key key(json_text(pod, "metadata", "namespace"), name);
    VirtualCluster& cluster = clusters
                                  .try_emplace(key, VirtualCluster{.name_space = key.first,
                                                                   .name = name,
                                                                   .controller = "-",
                                                                   .nodes = 0,
                                                                   .ready_nodes = 0,
                                                                   .jobs = {}})
                                  .first->second;
    if (placeholder) {
      placeholders[key].push_back(&pod);
    } else {
      add_part(pod, cluster);
      if (label_of(pod, kComponent) == "node") nodes[key].push_back(&pod);
    }
  }
  std::vector<VirtualCluster> all;
  for (auto& [key, cluster] : clusters) {
    std::map<std::uint32_t, Gathered> jobs;
    for (const json* pod : placeholders[key]) {
      const std::uint32_t id = *number_in(label_of(*pod, label::kSlurmJob));
      jobs[id].job.id = id;
      gather(*pod, lends(*pod, nodes[key]), jobs[id]);
    }
    for (auto& [id, gathered] : jobs) cluster.jobs.push_back(job_of(std::move(gathered)));
    all.push_back(std::move(cluster));
  }
  return all;
}

}  // namespace pinion::ctl
