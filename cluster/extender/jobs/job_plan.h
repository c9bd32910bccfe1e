// What would become of a job on a fleet: the webhook's change and the planner's places, nothing
// applied. One document for people and tools, whoever holds the fleet: a running extender or
// pinionctl with a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/extender/jobs/mutation.h"
#include "cluster/extender/scheduling/demand.h"

namespace pinion::cluster::jobs {

// The CPUs of a machine where a worker goes, for a picture.
struct PlanMachine {
  std::vector<topology::Pu> cpus;  // by NUMA node, L3 domain, core; L2 and package are not told
  std::vector<topology::NodeId> numa_ids;  // the kernel's numbers, by Pu::node
  topology::CpuSet reserved;
  topology::CpuSet isolated;

  bool operator==(const PlanMachine&) const = default;
};

struct PlanNode {
  std::string name;
  std::size_t machine = 0;  // of JobPlan::machines
  topology::CpuSet taken;   // by other containers, promised ones too

  bool operator==(const PlanNode&) const = default;
};

struct PlanWorker {
  std::string host;  // empty: not known before the pods exist
  int tasks = 0;
  int cpus = 0;
  std::string group;
  std::string node;       // empty: none
  topology::CpuSet runs;  // its CPUs there
  topology::CpuSet held;  // with those kept empty beside them

  bool operator==(const PlanWorker&) const = default;
};

struct JobPlan {
  std::string kind;  // these three as the object says
  std::string name_space;
  std::string name;
  Mutation::Kind outcome = Mutation::Kind::kUntouched;
  std::string text;
  std::vector<std::string> warnings;
  nlohmann::json patch = nlohmann::json::array();
  std::vector<Row> decided;  // this and the following: of a job that was cut
  std::vector<PlanWorker> workers;
  std::string waits;            // why it would; empty: it would start
  std::vector<PlanNode> nodes;  // where workers go, in their order
  std::vector<PlanMachine> machines;

  bool operator==(const JobPlan&) const = default;
};

// "changed", "untouched", "refused".
[[nodiscard]] std::string_view word_of(Mutation::Kind outcome);

// `object`: a JSON object. A job of more than kMaxGang workers is refused, so that a look at the
// fleet has an end.
[[nodiscard]] JobPlan plan_job(const nlohmann::json& object, const Options& options,
                               const LookAtFleet& look);

// The document; its shape is described in docs/jobs.md and only ever grows.
[[nodiscard]] nlohmann::json to_json(const JobPlan& plan);

// Errors: kInvalid, naming the field, for what is no such document. Fields that are not known are
// not looked at.
Result<JobPlan> read_job_plan(const nlohmann::json& document);

}  // namespace pinion::cluster::jobs
