#include "cluster/extender/jobs/job_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cluster/core/placement.h"
#include "cluster/extender/jobs/gang.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_text;
using nlohmann::json;
using topology::Pu;

constexpr const char* kNamespace = "default";  // of an object that states none

PlanMachine machine_of(const MachineKind& kind) {
  PlanMachine machine;
  machine.cpus = kind.topology->pus;
  for (Pu& pu : machine.cpus) pu.l2 = pu.package = topology::kNoIndex;
  std::sort(machine.cpus.begin(), machine.cpus.end(), [](const Pu& a, const Pu& b) {
    return std::tuple(a.node, a.l3, a.core, a.cpu) < std::tuple(b.node, b.l3, b.core, b.cpu);
  });
  for (const topology::Node& node : kind.topology->nodes) machine.numa_ids.push_back(node.id);
  machine.reserved = kind.reserved;
  machine.isolated = kind.topology->isolated;
  return machine;
}

// Puts the places of a plan, and the nodes where they are, into the document.
class Places {
 public:
  Places(const Fleet& fleet, JobPlan& plan) : fleet_(fleet), plan_(plan) {}

  void add(const Placement& placement, PlanWorker& worker) {
    const FleetNode& node = fleet_.node(placement.node);
    worker.node = node.name;
    worker.runs = placement.decision.cpus;
    worker.held = placement.decision.claim.cpus;
    for (const topology::Decision& other : placement.beside) {
      worker.runs |= other.cpus;
      worker.held |= other.claim.cpus;
    }
    if (!seen_.insert(placement.node).second) return;
    plan_.nodes.push_back(
        {.name = node.name, .machine = machine(node), .taken = node.ledger.exclusive()});
  }

 private:
  std::size_t machine(const FleetNode& node) {
    const auto [known, is_new] = kinds_.emplace(node.kind.get(), plan_.machines.size());
    if (is_new) plan_.machines.push_back(machine_of(*node.kind));
    return known->second;
  }

  const Fleet& fleet_;
  JobPlan& plan_;
  std::set<NodeIndex> seen_;
  std::map<const MachineKind*, std::size_t> kinds_;
};

std::vector<PlanWorker> workers_of(const json& after, const Cut& cut, const Gang& gang) {
  std::vector<std::string> hosts = hosts_of(after, cut.job, static_cast<int>(gang.size()));
  hosts.resize(gang.size());
  std::vector<PlanWorker> workers;
  for (std::size_t i = 0; i < gang.size(); ++i) {
    workers.push_back({.host = std::move(hosts[i]),
                       .tasks = cut.decision.workers[i].tasks,
                       .cpus = gang[i].all_cpus(),
                       .group = gang[i].task_group,
                       .node = {},
                       .runs = {},
                       .held = {}});
  }
  return workers;
}

void place(const Fleet& fleet, const Gang& gang, int nodes, JobPlan& plan) {
  const GangOutcome outcome =
      place_gang(PlacementPolicy::kHoles, fleet, gang, {.nodes = limit_of_nodes(nodes)});
  if (const auto* refusal = std::get_if<GangRefusal>(&outcome)) {
    plan.waits = refusal->text;
    return;
  }
  const auto& placements = std::get<GangPlan>(outcome).placements;
  Places places(fleet, plan);
  for (std::size_t i = 0; i < gang.size(); ++i) places.add(placements[i], plan.workers[i]);
}

}  // namespace

JobPlan plan_job(const json& object, const Options& options, const LookAtFleet& look) {
  const Mutation mutation = mutate(object, kNamespace, options, choose_by(look));
  JobPlan plan{.kind = json_text(object, "kind"),
               .name_space = json_text(object, "metadata", "namespace"),
               .name = json_text(object, "metadata", "name"),
               .outcome = mutation.kind,
               .text = mutation.text,
               .warnings = mutation.warnings,
               .patch = mutation.patch,
               .decided = {},
               .workers = {},
               .waits = {},
               .nodes = {},
               .machines = {}};
  if (!mutation.cut) return plan;
  plan.decided = mutation.cut->rows;
  const json after = object.patch(mutation.patch);
  plan.name = mutation.cut->job.name;  // chosen where only generateName is stated
  look([&](const LockedFleet& locked) {
    const Gang gang = gang_of(after, *mutation.cut, options.defaults, locked);
    plan.workers = workers_of(after, *mutation.cut, gang);
    place(locked.fleet, gang, mutation.cut->request.nodes, plan);
  });
  return plan;
}

}  // namespace pinion::cluster::jobs
