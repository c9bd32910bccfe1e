// Random fleets and gangs for the properties of cluster/core and the extender.
#pragma once

#include "cluster/core/gang_plan.h"
#include "cluster/core/task_groups.h"
#include "tests/property/topology_gen.h"

namespace pinion::cluster {

using topology::one_in;
using topology::pick_below;

// A report of a node on which some containers run, "NAME/0", "NAME/1" ...
inline NodeReport random_report(const std::string& name,
                                const std::shared_ptr<const topology::Topology>& machine,
                                const topology::CpuSet& reserved) {
  NodeReport report;
  report.name = name;
  report.topology = machine;
  report.reserved = reserved;
  topology::Ledger ledger(reserved);
  const int containers = pick_below(5);
  for (int i = 0; i < containers; ++i) {
    const auto outcome = topology::allocate(
        *machine, ledger, topology::random_request(*machine, name + "/" + std::to_string(i)));
    if (const auto* decision = std::get_if<topology::Decision>(&outcome)) {
      ledger.commit(decision->claim);
      report.claims.push_back(decision->claim);
      if (one_in(3)) report.rates[decision->claim.id] = 1e7 * pick_below(20);
    }
  }
  return report;
}

// Up to six nodes of up to three kinds.
inline void random_fleet(Fleet& fleet) {
  std::vector<std::shared_ptr<const topology::Topology>> machines;
  for (int i = 0; i < 3; ++i) {
    machines.push_back(std::make_shared<const topology::Topology>(topology::random_machine()));
  }
  const int nodes = 1 + pick_below(6);
  for (int i = 0; i < nodes; ++i) {
    const auto& machine = machines[static_cast<std::size_t>(pick_below(3))];
    const topology::CpuSet reserved = topology::random_ledger(*machine).reserved();
    const auto lost =
        fleet.report(random_report("node-" + std::to_string(i), machine, reserved), 0);
    RC_ASSERT(bool(lost));
    if (one_in(8)) fleet.age(1, 1);  // those until now are stale
    if (one_in(2)) fleet.heard(fleet.find("node-" + std::to_string(i)), 2);
  }
}

// Up to ten workers of one or two sizes in up to four groups.
inline Gang random_gang(const std::string& job) {
  const topology::Topology any = topology::random_machine();
  topology::Request large = topology::random_request(any, "");
  large.preferred = {};
  large.near_device.clear();
  large.job = job;
  topology::Request small = large;
  if (one_in(2) && small.cpus > 1) --small.cpus;
  Gang gang;
  const int members = 1 + pick_below(10);
  for (int i = 0; i < members; ++i) {
    gang.push_back(i < members / 2 ? large : small);
    gang.back().id = job + "-" + std::to_string(i);
  }
  join_groups(job, 1 + pick_below(4), {}, gang);
  return gang;
}

}  // namespace pinion::cluster
