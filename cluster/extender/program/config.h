// What an operator can set of pinion-extender.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "cluster/core/elastic.h"
#include "cluster/core/job_queue.h"
#include "cluster/extender/kube/access.h"
#include "policy/policy.h"

namespace pinion::cluster {

struct Config {
  std::string listen = "127.0.0.1:10270";      // kube-scheduler's calls
  std::string web_listen = "127.0.0.1:10271";  // all else
  std::string path_prefix;                     // before /filter and the others
  std::string tls_cert;                        // PEM files; none: plain HTTP
  std::string tls_key;
  std::string tls_client_ca;      // of the scheduler's and people's certificates; wanted with TLS
  std::string tls_client_names;   // with commas; of those that may call at `listen`; empty: all
  std::string certificate_names;  // with commas; empty: those files are somebody else's
  std::string kubeconfig;         // empty: the pod's service account
  std::string kube_context;
  std::string agents;  // file of a fixed list; empty: the agents' pods are looked for
  std::string agent_selector = "app.kubernetes.io/name=pinion-agent";
  std::string agent_namespace;  // of those pods; empty: that of the kubeconfig or of our own pod
  int agent_port = 9465;        // of the agents' gRPC, where they are looked for
  std::string agent_cert;       // PEM files for it
  std::string agent_key;
  std::string agent_ca;
  std::string agent_server_name;  // in the agents' certificates (server_name.h); empty: the address
  std::string agent_config;       // the agents' own configuration file: how they place
  std::chrono::milliseconds agent_silence{30'000};
  std::chrono::milliseconds hold_time{20'000};        // PodSchedulerLimits
  std::chrono::milliseconds keep_time{60'000};        // the same
  std::chrono::milliseconds confirm_time{60'000};     // the same
  std::chrono::milliseconds refused_time{120'000};    // RefusedPods::Options::after
  std::chrono::milliseconds reserve_after{60'000};    // SchedulerSettings::head_after_ms
  std::chrono::milliseconds reserve_time{1'800'000};  // head_ms
  QueueOrder queue = QueueOrder::kPriority;
  std::string elastic = "off";  // how elastic jobs are sized
  // ElasticKnobs, of the policy "ours".
  std::chrono::milliseconds elastic_ageing{ElasticKnobs().ageing_ms};
  std::chrono::milliseconds elastic_patience{ElasticKnobs().patience_ms};
  std::chrono::milliseconds elastic_strict{ElasticKnobs().strict_ms};
  int elastic_rescale_percent = ElasticKnobs().rescale_percent;
  int elastic_broken_percent = ElasticKnobs().broken_percent;
  std::string services_prometheus;             // URL; empty: services with a target are left alone
  std::string services_prometheus_ca;          // file in PEM; empty: the system's authorities
  std::string services_prometheus_token_file;  // sent there; empty: none is
  std::string placement = "holes";             // placement
  std::string service_placement = "by-class";  // service_placement; by-class: not set
  bool jobs_share_nodes = true;                // ColocationRules::jobs_share
  bool services_beside_jobs = true;            // services_beside
  bool one_member_per_node = false;            // apart
  std::string scheduler_name;    // of the pods of jobs that are cut; empty: theirs is left
  std::string managed_resource;  // that the webhook gives to pods with whole CPUs; empty: none
  bool scheduling_gates = true;  // the webhook gives pods of gangs the gate kGangGate
  bool pod_groups = false;       // or a PodGroup of scheduling.k8s.io, where there are such
  std::string policy = "none";   // of jobs that state neither a policy nor a number of workers
  bool learn_profiles = true;    // what bounds jobs, from their earlier runs
  bool node_resource_topology = false;  // write an object of each node, for other schedulers
  bool startup_taint = false;  // take pinion.dev/agent-not-ready from nodes whose agent is ready
  bool leader_elect = true;
  std::string lease_name = "pinion-extender";
  std::string lease_namespace;  // empty: the kubeconfig's or the pod's own
  std::string pod_name;         // of the pod that is labelled while we lead; empty: none is
  std::string ready_file;
  std::string log_level = "info";
  std::string log_format = "text";
};

// The table of them all; `config` must outlive it.
[[nodiscard]] std::vector<settings::Setting> settings_of(Config& config);

// What single settings cannot say. Errors: kInvalid, naming the setting.
Status check(const Config& config);

// Where the lease is, and what the extender keeps.
[[nodiscard]] std::string own_namespace(const Config& config, const kube::Access& access);

[[nodiscard]] ElasticKnobs knobs_of(const Config& config);

// How the agents place, from the file `agent_config`; without one: their defaults. Errors: of
// reading it, naming the file.
Result<policy::Defaults> agent_defaults(const Config& config);

}  // namespace pinion::cluster
