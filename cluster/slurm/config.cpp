#include "cluster/slurm/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log/log.h"

namespace pinion::slurm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestCluster = 20;  // names and labels have the job's number beside it

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// It begins names of pods, and is a label's value.
bool names_pods(const std::string& text) {
  return !text.empty() && text.size() <= kLongestCluster && is_lower_or_digit(text.front()) &&
         is_lower_or_digit(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower_or_digit(c) || c == '-';
         });
}

Result<std::map<std::string, std::string>> labels_in(const std::string& text) {
  std::map<std::string, std::string> labels;
  for (const std::string& part : settings::parts_of(text, ',')) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure(Errc::kInvalid, "nodeSelector: '" + part + "' is not LABEL=VALUE");
    }
    labels[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return labels;
}

Result<nlohmann::json> tolerations_in(const std::string& text) {
  if (text.empty()) return nlohmann::json::array();
  auto list = nlohmann::json::parse(text, nullptr, false);
  const auto is_object = [](const nlohmann::json& one) { return one.is_object(); };
  if (list.is_array() && std::all_of(list.begin(), list.end(), is_object)) return list;
  return failure(Errc::kInvalid, "tolerations: not a list of objects in JSON");
}

std::int64_t seconds(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

std::vector<settings::Setting> settings_of(Config& config) {
  using settings::duration;
  using settings::number;
  using settings::text;
  return {
      text("cluster", "Name of this Slurm: begins the placeholders' names [slurm]", config.cluster),
      text("kubeconfig", "File that says how the API server is reached [the pod's service account]",
           config.kubeconfig),
      text("kubeContext", "Context of the kubeconfig [its current one]", config.kube_context),
      text("namespace", "Where the placeholders are [that of the kubeconfig or of the pod]",
           config.name_space),
      text("image", "Image of the placeholders, which sleeps [registry.k8s.io/pause:3.10]",
           config.image),
      text("lendTo",
           "POD/CONTAINER that gets the placeholders' cores; POD may end in *: wind-node-*/slurm "
           "[none]",
           config.lend_to),
      text("nodeName", "Slurm's name of a Kubernetes node; {node} is that node's own [{node}]",
           config.node_name),
      text("nodeSelector", "Labels of the nodes that have a Slurm: LABEL=VALUE,... [all nodes]",
           config.node_selector),
      text("tolerations",
           "Tolerations of the placeholders, a list in JSON as in a pod's spec [none]",
           config.tolerations),
      text("schedulerName", "Scheduler of the placeholders [the default one]",
           config.scheduler_name),
      text("priorityClass", "Priority class of the placeholders [none]", config.priority_class),
      settings::word("strength",
                     "Whether a job's cores on a node must lie in one NUMA node: preferred | "
                     "required [preferred]",
                     config.strength, {"preferred", "required"}),
      settings::yes_no("schedulingGates",
                       "Placeholders wait at the extender's gate until all of a job have their "
                       "places; false where no extender takes it off [true]",
                       config.scheduling_gates),
      number("memoryPerCpu", "MiB for each CPU of a job that does not say [1024]",
             config.memory_per_cpu_mib, 1, 1 << 20),
      number("exclusiveCpus", "CPUs of a node for a job with --exclusive; 0: there are none [0]",
             config.exclusive_cpus, 0, 4096),
      number("mostCpus",
             "CPUs of a node at most, for a job that names no number of nodes: it gets more nodes; "
             "0: no bound [0]",
             config.most_cpus, 0, 4096),
      number("mostWaiting", "Jobs that wait with placeholders at one time [100]",
             config.most_waiting, 1, 10'000),
      settings::yes_no("elastic",
                       "Jobs with --comment=elastic or moldable have as many nodes as the "
                       "extender's elastic policy gives them [false]",
                       config.elastic),
      duration("poll", "How often Slurm is asked for its jobs [200ms]", config.poll, 50ms, 60s),
      duration("startLimit",
               "A job that Slurm has not started so long after its release is placed anew [2min]",
               config.start_limit, 5s, 24h),
      duration("retry", "Pause before a job is placed for the third time; grows [30s]",
               config.retry, 1s, 1h),
      duration("commandLimit", "How long a command of Slurm may take [10s]", config.command_limit,
               1s, 5min),
      text("listen", "ADDR:PORT for /metrics, /livez and /readyz; port 0 picks one [none]",
           config.listen),
      text("readyFile", "File made once Slurm and the API server have answered [none]",
           config.ready_file),
      settings::word("logLevel", "trace | debug | info | warn | error [info]", config.log_level,
                     {kLogLevels.begin(), kLogLevels.end()}),
      settings::word("logFormat", "text | json [text]", config.log_format, {"text", "json"})};
}

Status check(const Config& config) {
  if (!names_pods(config.cluster)) {
    return failure(Errc::kInvalid,
                   "cluster: up to 20 small letters, digits and dashes, for names of pods");
  }
  if (config.node_name.find("{node}") == std::string::npos) {
    return failure(Errc::kInvalid, "nodeName: {node} is missing, so all nodes would be one");
  }
  if (!config.lend_to.empty() &&
      std::count(config.lend_to.begin(), config.lend_to.end(), '/') != 1) {
    return failure(Errc::kInvalid, "lendTo: not POD/CONTAINER");
  }
  const auto all = pod_template_of(config, "");
  if (!all) return failure(all.error());
  return {};
}

Rules rules_of(const Config& config) {
  return {.cluster = config.cluster,
          .shape = {.memory_per_cpu_mib = config.memory_per_cpu_mib,
                    .exclusive_cpus = config.exclusive_cpus,
                    .most_cpus = config.most_cpus},
          .most_waiting = config.most_waiting,
          .start_limit_s = seconds(config.start_limit),
          .retry_s = seconds(config.retry),
          .elastic = config.elastic};
}

Result<PodTemplate> pod_template_of(const Config& config, const std::string& name_space) {
  auto labels = labels_in(config.node_selector);
  if (!labels) return failure(labels.error());
  auto tolerations = tolerations_in(config.tolerations);
  if (!tolerations) return failure(tolerations.error());
  return PodTemplate{.name_space = config.name_space.empty() ? name_space : config.name_space,
                     .cluster = config.cluster,
                     .image = config.image,
                     .lend_to = config.lend_to,
                     .node_name = config.node_name,
                     .scheduler = config.scheduler_name,
                     .priority_class = config.priority_class,
                     .required = config.strength == "required",
                     .gates = config.scheduling_gates,
                     .node_labels = *std::move(labels),
                     .tolerations = *std::move(tolerations)};
}

}  // namespace pinion::slurm
