#include "cluster/extender/program/config.h"

#include <algorithm>

#include "base/log/log.h"
#include "base/net/listen_address.h"
#include "base/utf8.h"
#include "base/whole_file.h"
#include "base/x509/issue.h"
#include "cluster/extender/kube/endpoint.h"
#include "cluster/extender/program/agents_file.h"
#include "cluster/extender/program/server_name.h"
#include "policy/settings.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;

settings::Setting server_name_setting(std::string& value) {
  settings::Setting setting = settings::text(
      "agentServerName",
      "Name in the agents' certificates; {node} and {pod} are the agent's own [their address]",
      value);
  setting.set = [&value](const std::string& text) -> Status {
    if (Status good = check_server_name(text); !good) return good;
    value = text;
    return {};
  };
  return setting;
}

Status check_addresses(const Config& config) {
  for (const auto& [key, text] :
       {std::pair("listen", &config.listen), std::pair("webListen", &config.web_listen)}) {
    const auto address = net::parse_listen_address(*text);
    if (!address) return failure(address.error().within(key));
  }
  if (config.services_prometheus.empty()) return {};
  const auto url = kube::parse_endpoint(config.services_prometheus);
  return url ? Status() : failure(url.error().within("servicesPrometheus"));
}

// A certificate is of no use without its key, nor a key without its certificate.
Status check_pair(const std::string& cert_name, const std::string& cert,
                  const std::string& key_name, const std::string& key) {
  if (cert.empty() == key.empty()) return {};
  return failure(Errc::kInvalid, (key.empty() ? key_name : cert_name) + ": missing beside " +
                                     (key.empty() ? cert_name : key_name));
}

Status check_certificate_names(const Config& config) {
  if (config.certificate_names.empty()) return {};
  if (config.tls_cert.empty()) {
    return failure(Errc::kInvalid, "tlsCert: missing beside certificateNames: where to write it");
  }
  for (const std::string& name : settings::parts_of(config.certificate_names, ',')) {
    if (x509::sound_name(name)) continue;
    return failure(Errc::kInvalid, "certificateNames: " + quoted_value(name) +
                                       " is neither a DNS name nor an IP address");
  }
  return {};
}

// As the API server takes names of extended resources.
settings::Setting resource_setting(std::string& value) {
  settings::Setting setting = settings::text(
      "managedResource",
      "Extended resource that the webhook gives to pods with whole CPUs, so that the scheduler "
      "asks about those alone [none]",
      value);
  setting.set = [&value](const std::string& text) -> Status {
    constexpr std::string_view known = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    const std::size_t slash = text.find('/');
    const auto fits = [&](std::string_view part) {
      return !part.empty() && part.find_first_not_of(known) == std::string_view::npos;
    };
    const std::string_view all = text;
    if (!text.empty() && (slash == std::string::npos || !fits(all.substr(0, slash)) ||
                          !fits(all.substr(slash + 1)))) {
      return failure(Errc::kInvalid, quoted_value(text) + " is not DOMAIN/NAME");
    }
    value = text;
    return {};
  };
  return setting;
}

}  // namespace

std::vector<settings::Setting> settings_of(Config& config) {
  using settings::duration;
  using settings::text;
  using std::chrono::milliseconds;
  constexpr milliseconds longest(kLongestKnobMs);
  std::vector<settings::Setting> all{
      text("listen", "ADDR:PORT for kube-scheduler's calls; port 0 picks one [127.0.0.1:10270]",
           config.listen),
      text("webListen",
           "ADDR:PORT for the webhook, probes, metrics, the page and dry plans [127.0.0.1:10271]",
           config.web_listen),
      text("pathPrefix", "Before /filter and the others, as in the scheduler's urlPrefix [none]",
           config.path_prefix),
      text("tlsCert",
           "PEM file of the server's certificate, read again when it changes [plain HTTP]",
           config.tls_cert),
      text("tlsKey", "PEM file of its key", config.tls_key),
      text("tlsClientCA",
           "PEM file, needed with tlsCert: the scheduler, the page and plans ask for a certificate "
           "signed by it; webhook, probes and metrics do not",
           config.tls_client_ca),
      text("tlsClientNames",
           "DNS or common names, with commas: at listen a caller's certificate must have one of "
           "them [any certificate of tlsClientCA is taken]",
           config.tls_client_names),
      text(
          "certificateNames",
          "DNS names and IP addresses, with commas: the extender makes and renews the certificates "
          "itself, its own with these names, in Secrets of its own namespace, and writes tlsCert, "
          "tlsKey and tlsClientCA [these are somebody else's]",
          config.certificate_names),
      text("kubeconfig", "File that says how the API server is reached [the pod's service account]",
           config.kubeconfig),
      text("kubeContext", "Context of the kubeconfig [its current one]", config.kube_context),
      text("agents", "YAML file with a fixed list of agents, see docs/kubernetes.md [their pods]",
           config.agents),
      text("agentSelector", "Labels of the agents' pods [app.kubernetes.io/name=pinion-agent]",
           config.agent_selector),
      text(
          "agentNamespace",
          "Where they are: pods elsewhere are no agents [the namespace of the kubeconfig or of the "
          "pod]",
          config.agent_namespace),
      settings::number("agentPort", "Port of the gRPC interface of agents found so [9465]",
                       config.agent_port, 1, 65535),
      text("agentCert", "PEM file of our certificate for the agents", config.agent_cert),
      text("agentKey", "PEM file of its key", config.agent_key),
      text("agentCA", "PEM file: the agents' certificates are signed by it", config.agent_ca),
      server_name_setting(config.agent_server_name),
      text("agentConfig", "The agents' own configuration file, which says how they place [none]",
           config.agent_config),
      duration("agentSilence", "A node whose agent is silent for so long gets no pods [30s]",
               config.agent_silence, 10s, 1h),
      duration("holdTime",
               "How long a bind waits for its gang; below the scheduler's httpTimeout [20s]",
               config.hold_time, 1s, 10min),
      duration("keepTime", "How long a gang's places are kept without a question about it [60s]",
               config.keep_time, 2s, 1h),
      duration("confirmTime", "How long a binding counts before the API server tells of it [60s]",
               config.confirm_time, 5s, 1h),
      duration(
          "refusedTime",
          "A pod that its agent refuses is evicted after so long, if a controller makes another; "
          "0: never [120s]",
          config.refused_time, 0s, 24h),
      duration("reserveAfter",
               "How long the first job of the queue waits before free CPUs are held for it [60s]",
               config.reserve_after, 0s, 24h),
      duration("reserveTime",
               "How long they are held at most; then others have their turn for as long [30min]",
               config.reserve_time, 1min, 24h),
      settings::word("queue",
                     "Who is before whom: priority, then age | fair-share, of equal priorities the "
                     "namespace with fewest CPUs | shortest, of equal priorities who would be over "
                     "first, had all started when they came; by activeDeadlineSeconds [priority]",
                     config.queue, kQueueOrderWords),
      settings::word(
          "placement",
          "On which nodes gangs go, where they do not say so themselves: holes | "
          "task-group | task-group-random | first-fit | least-loaded | most-loaded "
          "[holes]",
          config.placement,
          {"holes", "task-group", "task-group-random", "first-fit", "least-loaded", "most-loaded"}),
      settings::word("servicePlacement",
                     "Which nodes services prefer: by-class, fill for those with "
                     "pinion.dev/class: service, others with a target as without it | fill, what "
                     "jobs leave, where they disturb least | least-loaded | most-loaded [by-class]",
                     config.service_placement, {"by-class", "fill", "least-loaded", "most-loaded"}),
      settings::yes_no("jobsShareNodes", "false: a node has pods of one HPC job at a time [true]",
                       config.jobs_share_nodes),
      settings::yes_no("servicesBesideJobs",
                       "false: a node has HPC jobs or services, never both [true]",
                       config.services_beside_jobs),
      settings::yes_no("oneMemberPerNode",
                       "true: at most one pod of an HPC job is on a node [false]",
                       config.one_member_per_node),
      settings::word("elastic",
                     "How jobs with the label pinion.dev/elastic are sized: off | min | max | "
                     "moldable | elastic | ours, see docs/elastic.md [off]",
                     config.elastic, {"off", "min", "max", "moldable", "elastic", "ours"}),
      duration("elasticAgeing",
               "elastic: ours: a waiting job goes up one rank of priority each time that it has "
               "waited for so long [10m]",
               config.elastic_ageing, milliseconds(kLeastAgeingMs), longest),
      duration(
          "elasticPatience",
          "The same: for the first job that has waited for so long, what becomes free is kept; "
          "others start where that does not delay it [60m]",
          config.elastic_patience, 0s, longest),
      duration("elasticStrict",
               "The same: once it has waited for so long beyond that, no other starts [10080m]",
               config.elastic_strict, 0s, longest),
      settings::number("elasticRescalePercent",
                       "The same: at most so much of a job's time goes into rescales [5]",
                       config.elastic_rescale_percent, 1, 100),
      settings::number("elasticBrokenPercent",
                       "The same: what a freed CPU counts in a NUMA node that others still use, "
                       "against one in a NUMA node that becomes wholly free [50]",
                       config.elastic_broken_percent, 1, 100),
      text("servicesPrometheus",
           "URL of the Prometheus by which services with a target are resized, see "
           "docs/services.md [they are left alone]",
           config.services_prometheus),
      text("servicesPrometheusCA",
           "Authority of that Prometheus's certificate, PEM, where its URL is https [the system's]",
           config.services_prometheus_ca),
      text("servicesPrometheusTokenFile",
           "Bearer token for that Prometheus, read again every minute [none is sent]",
           config.services_prometheus_token_file),
      settings::yes_no("nodeResourceTopology",
                       "true: write a NodeResourceTopology of each node, for other schedulers "
                       "[false]",
                       config.node_resource_topology),
      settings::yes_no("startupTaint",
                       "true: take the taint pinion.dev/agent-not-ready from a node once its agent "
                       "is ready [false]",
                       config.startup_taint),
      settings::yes_no("leaderElect", "false: this is the only replica [true]",
                       config.leader_elect),
      text("leaseName", "Of the lease by which replicas choose a leader [pinion-extender]",
           config.lease_name),
      text("leaseNamespace", "Where the lease is [the namespace of the kubeconfig or of the pod]",
           config.lease_namespace),
      text("podName",
           "Our own pod, which gets the label pinion.dev/leader=true while we lead, so that a "
           "Service finds it [no label]",
           config.pod_name),
      text("readyFile", "File made once questions are answered; holds the address [none]",
           config.ready_file)};
  all.push_back(settings::word("policy",
                               "How jobs are cut that state neither a policy nor a number of "
                               "workers: none | scale | granularity | auto [none]",
                               config.policy, {"none", "scale", "granularity", "auto"}));
  all.push_back(settings::yes_no(
      "learnProfiles",
      "Learn from the runs of jobs what bounds them, for those with pinion.dev/profile: auto; kept "
      "in the ConfigMap pinion-profiles of our own namespace [true]",
      config.learn_profiles));
  all.push_back(text("schedulerName",
                     "Scheduler that the webhook gives to the pods of jobs [left as it is]",
                     config.scheduler_name));
  all.push_back(resource_setting(config.managed_resource));
  all.push_back(settings::yes_no(
      "schedulingGates",
      "The webhook puts a scheduling gate on the pods of gangs, which is taken off when all of the "
      "gang exist and have their places: the scheduler asks about none before [true]",
      config.scheduling_gates));
  all.push_back(settings::yes_no(
      "podGroups",
      "Where the API server has PodGroups of scheduling.k8s.io, the webhook puts gangs into one of "
      "their own in place of the gate: kube-scheduler must have them on, too [false]",
      config.pod_groups));
  all.push_back(settings::word("logLevel", "trace | debug | info | warn | error [info]",
                               config.log_level, {kLogLevels.begin(), kLogLevels.end()}));
  all.push_back(
      settings::word("logFormat", "text | json [text]", config.log_format, {"text", "json"}));
  return all;
}

Status check(const Config& config) {
  if (Status good = check_addresses(config); !good) return good;
  if (Status good = check_pair("tlsCert", config.tls_cert, "tlsKey", config.tls_key); !good) {
    return good;
  }
  if (Status good = check_pair("agentCert", config.agent_cert, "agentKey", config.agent_key);
      !good) {
    return good;
  }
  if (!config.services_prometheus_token_file.empty() &&
      !config.services_prometheus.starts_with("https://")) {
    return failure(Errc::kInvalid,
                   "servicesPrometheusTokenFile: a token is sent to an https URL alone, see "
                   "servicesPrometheus");
  }
  if (!config.tls_cert.empty() && config.tls_client_ca.empty()) {
    return failure(Errc::kInvalid,
                   "tlsClientCA: missing; with tlsCert the scheduler's calls are taken only from "
                   "who has a certificate of that CA");
  }
  if (!config.tls_client_names.empty() && config.tls_cert.empty()) {
    return failure(Errc::kInvalid, "tlsClientNames: names of certificates, and no tlsCert");
  }
  // OpenSSL takes an empty name for none, and one that begins with a dot for all that end so.
  const auto names = settings::parts_of(config.tls_client_names, ',');
  const bool sound = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return !name.empty() && name.front() != '.' && name.back() != ' ';
  });
  if (!sound) {
    return failure(Errc::kInvalid, "tlsClientNames: " + quoted_value(config.tls_client_names) +
                                       " is no list of names with commas");
  }
  if (Status good = check_certificate_names(config); !good) return good;
  if (config.agents.empty()) return {};
  const auto agents = read_agents(config.agents);
  return agents ? Status() : failure(agents.error().within("agents"));
}

std::string own_namespace(const Config& config, const kube::Access& access) {
  return config.lease_namespace.empty() ? access.default_namespace : config.lease_namespace;
}

ElasticKnobs knobs_of(const Config& config) {
  return {.ageing_ms = config.elastic_ageing.count(),
          .patience_ms = config.elastic_patience.count(),
          .strict_ms = config.elastic_strict.count(),
          .rescale_percent = config.elastic_rescale_percent,
          .broken_percent = config.elastic_broken_percent};
}

Result<policy::Defaults> agent_defaults(const Config& config) {
  policy::Defaults defaults;
  if (config.agent_config.empty()) return defaults;
  const auto text = read_file(config.agent_config, 1);
  if (!text) return failure(text.error());
  bool strict_reservation = false;  // their reports tell it
  const Status done = settings::read_yaml(*text, policy::settings_of(defaults, strict_reservation),
                                          settings::OtherKeys::kPassOver);
  if (!done) return failure(done.error().within(config.agent_config));
  return defaults;
}

}  // namespace pinion::cluster
