// Fleets for tests, written as a few numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/core/gang_plan.h"
#include "cluster/core/task_groups.h"
#include "tests/support/machine.h"

namespace pinion::cluster {

using test_support::kGiB;
using MachinePtr = std::shared_ptr<const topology::Topology>;

inline MachinePtr machine_of(const test_support::MachineSpec& spec) {
  return std::make_shared<const topology::Topology>(test_support::machine(spec));
}

// The paper's worker node: 2 sockets of 18 cores without SMT, of each of which two are reserved.
inline MachinePtr paper_machine() {
  return machine_of({.packages = 2, .cores_per_l3 = 18, .memory_per_node = 128 * kGiB});
}
inline const topology::CpuSet kPaperReserved{0, 1, 18, 19};

inline NodeReport report_of(const std::string& name, MachinePtr machine,
                            const topology::CpuSet& reserved = topology::CpuSet{0}) {
  NodeReport report;
  report.name = name;
  report.topology = std::move(machine);
  report.reserved = reserved;
  report.instance = "agent";
  return report;
}

inline topology::Claim claim_of(const std::string& id, const std::string& cpus) {
  topology::Claim claim;
  claim.id = id;
  claim.cpus = *topology::CpuSet::parse(cpus);
  return claim;
}

inline topology::Request request_of(const std::string& id, int cpus) {
  topology::Request request;
  request.id = id;
  request.cpus = cpus;
  return request;
}

// Four nodes as in the paper, node-0 .. node-3.
inline void add_paper_nodes(Fleet& fleet) {
  const MachinePtr machine = paper_machine();
  for (int i = 0; i < 4; ++i) {
    const auto lost =
        fleet.report(report_of("node-" + std::to_string(i), machine, kPaperReserved), 0);
    if (!lost) std::abort();
  }
}

// Workers job-0, job-1 ... with these CPUs in so many balanced groups.
inline Gang gang_of(const std::string& job, const std::vector<int>& cpus, int groups,
                    topology::Profile profile = topology::Profile::kCpu) {
  Gang gang;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    topology::Request request = request_of(job + "-" + std::to_string(i), cpus[i]);
    request.job = job;
    request.profile = profile;
    gang.push_back(request);
  }
  join_groups(job, groups, {}, gang);
  return gang;
}

// "node-0: job-0 job-4; node-1: ..." by name.
inline std::string nodes_text(const Fleet& fleet, const GangPlan& plan) {
  std::map<std::string, std::string> by_node;
  for (const Placement& placement : plan.placements) {
    by_node[fleet.node(placement.node).name] += " " + placement.id;
  }
  std::string text;
  for (const auto& [node, ids] : by_node) {
    text += (text.empty() ? "" : "; ") + node + ":" + ids;
  }
  return text;
}

}  // namespace pinion::cluster
