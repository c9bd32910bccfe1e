// The plan's document, written and read.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "cluster/extender/jobs/job_plan.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_at;
using nlohmann::json;
using topology::CpuSet;
using topology::kNoIndex;
using topology::Pu;
using Kind = Mutation::Kind;

constexpr std::array kOutcomes = {std::pair(Kind::kChanged, "changed"),
                                  std::pair(Kind::kUntouched, "untouched"),
                                  std::pair(Kind::kRefused, "refused")};

// --- written

// A list of NUMA nodes, each a list of L3 domains, each a list of cores: "0,16".
json json_of(const PlanMachine& machine) {
  json numa = json::array();
  const Pu* before = nullptr;
  CpuSet core;
  const auto end_core = [&] {
    if (before != nullptr) numa.back()["l3s"].back().push_back(core.to_string());
    core = {};
  };
  for (const Pu& pu : machine.cpus) {
    const bool new_node = before == nullptr || before->node != pu.node;
    const bool new_l3 = new_node || before->l3 != pu.l3;
    if (new_l3 || before->core != pu.core) end_core();
    if (new_node) {
      numa.push_back({{"id", nullptr}, {"l3s", json::array()}});
      const auto index = static_cast<std::size_t>(pu.node);
      if (pu.node != kNoIndex) numa.back()["id"] = machine.numa_ids[index];
    }
    if (new_l3) numa.back()["l3s"].push_back(json::array());
    core.add(pu.cpu);
    before = &pu;
  }
  end_core();
  return {{"numa", std::move(numa)},
          {"reserved", machine.reserved.to_string()},
          {"isolated", machine.isolated.to_string()}};
}

json json_of(const PlanWorker& worker) {
  return {{"host", worker.host},
          {"tasks", worker.tasks},
          {"cpus", worker.cpus},
          {"group", worker.group},
          {"node", worker.node},
          {"cpus_there", worker.runs.to_string()},
          {"held_there", worker.held.to_string()}};
}

// --- read

// Reads fields one after another; what is wrong first is kept.
class Fields {
 public:
  std::string text(const json& object, const char* name) {
    const json& value = json_at(object, name);
    if (value.is_string()) return value.get<std::string>();
    wrong(name, "not a string");
    return {};
  }
  int number(const json& object, const char* name, int most) {
    const json& value = json_at(object, name);
    if (value.is_number_integer() && value >= 0 && value <= most) return value.get<int>();
    wrong(name, "not a number from 0 to " + std::to_string(most));
    return 0;
  }
  CpuSet cpus(const json& value, const char* name) {
    auto read = CpuSet::parse(value.is_string() ? value.get_ref<const std::string&>() : "x");
    if (read) return *read;
    wrong(name, "not a list of CPUs");
    return {};
  }
  // Its items; none where there is no such field.
  const json& list(const json& object, const char* name, std::size_t most) {
    static const json nothing = json::array();
    const json& value = json_at(object, name);
    if (value.is_null()) return nothing;
    if (value.is_array() && value.size() <= most) return value;
    wrong(name, "not a list of at most " + std::to_string(most));
    return nothing;
  }
  void wrong(const std::string& name, const std::string& what) {
    if (!good_) return;
    good_ = failure(Errc::kInvalid, name + ": " + what);
  }
  [[nodiscard]] Status done() const { return good_; }

 private:
  Status good_;
};

constexpr int kMaxNumber = std::numeric_limits<int>::max();
constexpr std::size_t kMaxMachines = 1024;  // of so many different kinds
constexpr std::size_t kMaxPatch = 100'000;
constexpr std::size_t kMaxRows = 1000;  // of warnings and decisions: far more than there are

// Numbers of L3 domains and cores are as they come.
class MachineReader {
 public:
  explicit MachineReader(Fields& fields) : fields_(fields) {}

  PlanMachine read(const json& value) {
    machine_.reserved = fields_.cpus(json_at(value, "reserved"), "machines.reserved");
    machine_.isolated = fields_.cpus(json_at(value, "isolated"), "machines.isolated");
    for (const json& numa : fields_.list(value, "numa", topology::NodeSet::kCapacity)) {
      read_numa(numa);
    }
    return std::move(machine_);
  }

 private:
  void read_numa(const json& numa) {
    topology::Index node = kNoIndex;
    if (!json_at(numa, "id").is_null()) {
      node = static_cast<topology::Index>(machine_.numa_ids.size());
      machine_.numa_ids.push_back(fields_.number(numa, "id", topology::NodeSet::kCapacity - 1));
    }
    for (const json& l3 : fields_.list(numa, "l3s", CpuSet::kCapacity)) {
      if (!l3.is_array()) fields_.wrong("machines.numa.l3s", "not a list of lists");
      for (const json& core : l3) read_core(core, node);
      ++l3s_;
    }
  }

  void read_core(const json& core, topology::Index node) {
    const CpuSet cpus = fields_.cpus(core, "machines.numa.l3s");
    if (cpus.intersects(all_)) return fields_.wrong("machines.numa.l3s", "a CPU is there twice");
    all_ |= cpus;
    for (const int cpu : cpus) {
      machine_.cpus.push_back({.cpu = cpu,
                               .core = cores_,
                               .l2 = kNoIndex,
                               .l3 = l3s_,
                               .node = node,
                               .package = kNoIndex});
    }
    ++cores_;
  }

  Fields& fields_;
  PlanMachine machine_;
  CpuSet all_;
  topology::Index l3s_ = 0;
  topology::Index cores_ = 0;
};

Kind outcome_of(Fields& fields, const json& document) {
  const std::string word = fields.text(document, "outcome");
  for (const auto& [kind, name] : kOutcomes) {
    if (word == name) return kind;
  }
  fields.wrong("outcome", "unknown");
  return Kind::kUntouched;
}

PlanWorker worker_of(Fields& fields, const json& value) {
  return {.host = fields.text(value, "host"),
          .tasks = fields.number(value, "tasks", kMaxNumber),
          .cpus = fields.number(value, "cpus", kMaxNumber),
          .group = fields.text(value, "group"),
          .node = fields.text(value, "node"),
          .runs = fields.cpus(json_at(value, "cpus_there"), "workers.cpus_there"),
          .held = fields.cpus(json_at(value, "held_there"), "workers.held_there")};
}

void read_places(Fields& fields, const json& document, JobPlan& plan) {
  for (const json& worker : fields.list(document, "workers", kMaxGang)) {
    plan.workers.push_back(worker_of(fields, worker));
  }
  for (const json& machine : fields.list(document, "machines", kMaxMachines)) {
    plan.machines.push_back(MachineReader(fields).read(machine));
  }
  for (const json& node : fields.list(document, "nodes", kMaxGang)) {
    const int machine = fields.number(node, "machine", kMaxGang);
    plan.nodes.push_back({.name = fields.text(node, "name"),
                          .machine = static_cast<std::size_t>(machine),
                          .taken = fields.cpus(json_at(node, "taken"), "nodes.taken")});
    if (plan.nodes.back().machine < plan.machines.size()) continue;
    fields.wrong("nodes.machine", "there is no such machine");
  }
  std::set<std::string_view> used;
  for (const PlanWorker& worker : plan.workers) {
    if (!worker.node.empty()) used.insert(worker.node);
  }
  for (const PlanNode& node : plan.nodes) {
    if (!used.contains(node.name)) fields.wrong("nodes.name", "no worker goes there");
  }
}

}  // namespace

std::string_view word_of(Kind outcome) {
  const auto* const found = std::find_if(kOutcomes.begin(), kOutcomes.end(),
                                         [&](const auto& one) { return one.first == outcome; });
  return found->second;  // all are there
}

json to_json(const JobPlan& plan) {
  json document = {{"kind", plan.kind},  {"namespace", plan.name_space},
                   {"name", plan.name},  {"outcome", word_of(plan.outcome)},
                   {"text", plan.text},  {"warnings", plan.warnings},
                   {"patch", plan.patch}};
  if (plan.workers.empty()) return document;
  for (const Row& row : plan.decided) {
    document["decided"].push_back({{"what", row.what}, {"value", row.value}, {"why", row.why}});
  }
  for (const PlanWorker& worker : plan.workers) document["workers"].push_back(json_of(worker));
  document["waits"] = plan.waits;
  document["nodes"] = json::array();
  for (const PlanNode& node : plan.nodes) {
    document["nodes"].push_back(
        {{"name", node.name}, {"machine", node.machine}, {"taken", node.taken.to_string()}});
  }
  document["machines"] = json::array();
  for (const PlanMachine& machine : plan.machines) document["machines"].push_back(json_of(machine));
  return document;
}

Result<JobPlan> read_job_plan(const json& document) {
  if (!document.is_object()) return failure(Errc::kInvalid, "not an object");
  Fields fields;
  JobPlan plan;
  plan.kind = fields.text(document, "kind");
  plan.name_space = fields.text(document, "namespace");
  plan.name = fields.text(document, "name");
  plan.outcome = outcome_of(fields, document);
  plan.text = fields.text(document, "text");
  for (const json& warning : fields.list(document, "warnings", kMaxRows)) {
    plan.warnings.push_back(warning.is_string() ? warning.get<std::string>() : "");
  }
  plan.patch = fields.list(document, "patch", kMaxPatch);
  for (const json& row : fields.list(document, "decided", kMaxRows)) {
    plan.decided.push_back({.what = fields.text(row, "what"),
                            .value = fields.text(row, "value"),
                            .why = fields.text(row, "why")});
  }
  if (document.contains("waits")) plan.waits = fields.text(document, "waits");
  read_places(fields, document, plan);
  if (Status good = fields.done(); !good) return failure(std::move(good.error()));
  return plan;
}

}  // namespace pinion::cluster::jobs
