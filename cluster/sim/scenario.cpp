#include "cluster/sim/scenario.h"

#include <algorithm>
#include <array>

namespace pinion::sim {
namespace {

using cluster::Policy;

struct Scenario {
  const char* name;
  bool pinned;  // static CPU manager, topology manager best-effort
  Policy granularity;
  bool groups;  // the task-group plugin
  const char* placement;
  int workers;          // of each job where no policy decides
  bool insist = false;  // a worker that fits in a NUMA node starts in one or waits
};

// Volcano without a plugin that scores nodes picks any of those that fit; kube-scheduler's default
// is the least loaded.
constexpr int kPerTask = 1 << 20;  // a worker for each task, whatever the job
constexpr std::array kScenarios{
    Scenario{"NONE", false, Policy::kNone, false, "random", 1},
    Scenario{"CM", true, Policy::kNone, false, "random", 1},
    Scenario{"CM_S", true, Policy::kScale, false, "random", 1},
    Scenario{"CM_G", true, Policy::kGranularity, false, "random", 1},
    Scenario{"CM_S_TG", true, Policy::kScale, true, "paper", 1},
    Scenario{"CM_G_TG", true, Policy::kGranularity, true, "paper", 1},
    Scenario{"KUBEFLOW", true, Policy::kNone, false, "least", 1},
    Scenario{"VOLCANO", true, Policy::kNone, false, "random", kPerTask},
    Scenario{"OURS", true, Policy::kAuto, true, "ours", 1, true},
    Scenario{"OURS_P", true, Policy::kAuto, true, "ours", 1},
};

}  // namespace

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kScenarios));
  for (const Scenario& scenario : kScenarios) names.emplace_back(scenario.name);
  return names;
}

void apply_scenario(const std::string& name, RunOptions& options) {
  const auto* scenario = std::find_if(kScenarios.begin(), kScenarios.end(),
                                      [&](const Scenario& it) { return name == it.name; });
  // Volcano goes on to the next job where one does not fit.
  options.queue = QueueRule::kEasy;
  options.placement = scenario->placement;
  options.granularity = scenario->granularity;
  options.groups = scenario->groups;
  options.pinned = scenario->pinned;
  options.insist = scenario->insist;
  options.workers = scenario->workers;
  options.keeps_to_nodes = options.placement == "ours";
}

}  // namespace pinion::sim
