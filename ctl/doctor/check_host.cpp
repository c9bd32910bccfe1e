#include "ctl/doctor/checks.h"
#include "ctl/doctor/words.h"
#include "metrics/trespassers.h"

namespace pinion::ctl::doctor {
namespace {

constexpr std::int64_t kDay = 24L * 60 * 60;

Findings check_file(const CertificateFile& file, std::int64_t now) {
  const std::string id = "certificates";
  const std::string name = file.use + " " + file.path;
  if (!file.certificates) return {unknown(id, file.certificates.error().within(file.use))};
  Findings findings;
  for (const x509::Certificate& one : *file.certificates) {
    const std::string which = name + " (" + one.subject + ")";
    const std::int64_t days = (one.validity.to_s - now) / kDay;
    if (one.validity.to_s <= now) {
      findings.push_back(error(id, which + " has expired",
                               "renew it; the file is read again by itself when it changes"));
    } else if (one.validity.from_s > now) {
      findings.push_back(
          error(id, which + " is not valid yet", "set this node's clock, or that of who made it"));
    } else if (days < kCertificateWarningDays) {
      findings.push_back(warning(id, which + " expires in " + std::to_string(days) + " day(s)",
                                 "renew it: whoever does so by itself should have by now"));
    }
  }
  return findings;
}

}  // namespace

Findings check_clock(const ClockFacts& clock) {
  const std::string id = "clock";
  if (!clock.synchronized) {
    return {unknown(id, Error{.code = Errc::kUnavailable, .text = "the clock was not asked"})};
  }
  if (*clock.synchronized) return {good(id, "the clock is synchronized")};
  return {warning(id,
                  "the kernel says that its clock is not synchronized: certificates, leases and "
                  "recordings of several nodes compare times",
                  "start chrony, systemd-timesyncd or another NTP client")};
}

Findings check_certificates(const std::vector<CertificateFile>& files, std::int64_t now) {
  const std::string id = "certificates";
  Findings findings;
  std::size_t sound = 0;
  for (const CertificateFile& file : files) {
    Findings found = check_file(file, now);
    if (found.empty()) ++sound;
    for (Finding& each : found) findings.push_back(std::move(each));
  }
  if (findings.empty()) {
    findings.push_back(good(id, files.empty() ? "none in use here"
                                              : std::to_string(sound) + " file(s), all valid for " +
                                                    std::to_string(kCertificateWarningDays) +
                                                    " days and more"));
  }
  return findings;
}

Findings check_host_processes(const Result<std::vector<metrics::HostProcess>>& processes,
                              const AgentFacts& agent) {
  const std::string id = "host-daemons";
  if (!agent.snapshot) {
    return {unknown(id, Error{.code = Errc::kNotFound,
                              .text = "without the agent's answer nobody knows which CPUs are "
                                      "exclusive"})};
  }
  if (!processes) return {unknown(id, processes.error())};
  const v1::Sets& sets = agent.snapshot->node().sets();
  const auto exclusive = topology::CpuSet::parse(sets.exclusive());
  const auto online = topology::CpuSet::parse(sets.online());
  const auto reserved = topology::CpuSet::parse(sets.reserved());
  if (!exclusive || !online || !reserved) {
    return {unknown(id, Error{.code = Errc::kInvalid, .text = "the agent's sets of CPUs"})};
  }
  if (exclusive->empty()) return {good(id, "no CPU is exclusive now")};
  const topology::CpuSet keep = reserved->empty() ? *online - *exclusive : *reserved;
  const auto found = metrics::trespassers(*processes, *exclusive, keep);
  if (found.processes == 0) {
    return {good(id, "no process of the host may run on " + exclusive->to_string())};
  }
  return {warning(id,
                  std::to_string(found.processes) +
                      " process(es) of the host may run on exclusive CPUs " +
                      exclusive->to_string() + ": " + found.units,
                  found.keep_off)};
}

Findings check_node(const NodeFacts& facts) {
  Findings all;
  const auto add = [&all](Findings findings) {
    for (Finding& finding : findings) all.push_back(std::move(finding));
  };
  add(check_agent(facts.agent));
  add(check_kubelet_managers(facts.kubelet));
  add(check_nri(facts.runtime));
  add(check_reserved(facts.kubelet, facts.agent));
  add(check_cpusets(facts.cgroup));
  add(check_cgroup_driver(facts.kubelet, facts.runtime, facts.cgroup));
  add(check_perf(facts.perf, facts.agent));
  add(check_host_processes(facts.processes, facts.agent));
  add(check_certificates(facts.certificates, facts.now));
  add(check_clock(facts.clock));
  return all;
}

}  // namespace pinion::ctl::doctor
