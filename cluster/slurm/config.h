// What an operator can set of pinion-slurm.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "cluster/slurm/decide.h"
#include "cluster/slurm/pod_json.h"

namespace pinion::slurm {

struct Config {
  std::string cluster = "slurm";
  std::string kubeconfig;  // empty: the pod's service account
  std::string kube_context;
  std::string name_space;  // of the placeholders; empty: the kubeconfig's or the pod's own
  std::string image = PodTemplate().image;
  std::string lend_to;
  std::string node_name = "{node}";
  std::string node_selector;  // "a=b,c=d"
  std::string tolerations;    // JSON
  std::string scheduler_name;
  std::string priority_class;
  std::string strength = "preferred";
  bool scheduling_gates = true;
  int memory_per_cpu_mib = 1024;
  int exclusive_cpus = 0;
  int most_cpus = 0;
  int most_waiting = 100;
  bool elastic = false;
  std::chrono::milliseconds poll{200};
  std::chrono::milliseconds start_limit{120'000};
  std::chrono::milliseconds retry{30'000};
  std::chrono::milliseconds command_limit{10'000};
  std::string listen;  // empty: nowhere
  std::string ready_file;
  std::string log_level = "info";
  std::string log_format = "text";
};

// The table of them all; `config` must outlive it.
[[nodiscard]] std::vector<settings::Setting> settings_of(Config& config);

// What single settings cannot say. Errors: kInvalid, naming the setting.
Status check(const Config& config);

[[nodiscard]] Rules rules_of(const Config& config);
// `name_space`: where the placeholders are when the configuration does not say. Errors: kInvalid.
Result<PodTemplate> pod_template_of(const Config& config, const std::string& name_space);

}  // namespace pinion::slurm
