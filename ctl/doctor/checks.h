// From what was read of a node to what is wrong with it. Pure; each check answers at least one
// finding.
#pragma once

#include "ctl/doctor/facts.h"
#include "ctl/doctor/finding.h"

namespace pinion::ctl::doctor {

// One manager of CPUs, and of memory, on a node.
Findings check_kubelet_managers(const KubeletFacts& kubelet);
// The runtime lets plugins connect.
Findings check_nri(const RuntimeFacts& runtime);
// What the kubelet keeps from pods is what the agent keeps from containers.
Findings check_reserved(const KubeletFacts& kubelet, const AgentFacts& agent);
// Kubelet and runtime make groups the same way, which is systemd's where there is systemd.
Findings check_cgroup_driver(const KubeletFacts& kubelet, const RuntimeFacts& runtime,
                             const CgroupFacts& cgroup);
// Cpusets work, down to the pods' groups.
Findings check_cpusets(const CgroupFacts& cgroup);
// The agent may count.
Findings check_perf(const PerfFacts& perf, const AgentFacts& agent);
// It answers, knows all containers, and each is where it should be.
Findings check_agent(const AgentFacts& agent);
Findings check_clock(const ClockFacts& clock);

inline constexpr std::int64_t kCertificateWarningDays = 14;
Findings check_certificates(const std::vector<CertificateFile>& files, std::int64_t now);

// Nobody else may run where containers have their own CPUs.
Findings check_host_processes(const Result<std::vector<metrics::HostProcess>>& processes,
                              const AgentFacts& agent);

// All of them.
Findings check_node(const NodeFacts& facts);

}  // namespace pinion::ctl::doctor
