#include "ctl/doctor/checks.h"
#include "ctl/doctor/words.h"

namespace pinion::ctl::doctor {
namespace {

// capabilities(7), by their numbers.
constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21U;
constexpr std::uint64_t kPerfmon = std::uint64_t{1} << 38U;

Finding silent(const AgentFacts& agent) {
  const std::string id = "agent";
  const Error& why = agent.snapshot.error();
  if (why.code == Errc::kDenied) return unknown(id, why);
  if (agent.running) {
    return error(id, "pinion-agent runs and does not answer at " + agent.address + ": " + why.text,
                 "look at its log; where its apiListen is another address, name it with --agent");
  }
  return error(id, "no pinion-agent runs here, so containers start unpinned: " + why.text,
               "systemctl start pinion-agent; in a cluster: kubectl -n pinion-system get pods -o "
               "wide, and its log");
}

Finding ready(const v1::NodeState& node) {
  const std::string id = "agent-ready";
  if (node.synchronized()) {
    return good(id, "connected to " + node.runtime().name() + " " + node.runtime().version() +
                        ", all containers known");
  }
  const std::string& phase = node.runtime().phase();
  return error(id, "the agent does not know the runtime's containers: " + phase,
               phase == "disconnected"
                   ? "see the check nri, and the runtime's log"
                   : "wait a few seconds; where it stays so, look at the agent's log");
}

Finding fence(const v1::NodeState& node, const std::string& configured) {
  const std::string id = "fence";
  if (node.fence() != "runtime") return good(id, "others are kept off by: " + node.fence());
  const std::string what =
      "others are kept off by updates through the runtime, the slowest and weakest way: ";
  if (configured == "runtime") {
    return warning(id, what + "the agent's configuration says fence: runtime",
                   "unless that is on purpose, leave it out, and restart the agent");
  }
  return warning(id, what + "the agent cannot write cgroup files",
                 "mount /sys/fs/cgroup writable into its pod and give it CAP_DAC_OVERRIDE, as the "
                 "chart does");
}

Finding drift(const v1::Snapshot& snapshot) {
  const std::string id = "agent-drift";
  std::vector<std::string> troubled;
  std::string first;
  for (const v1::Container& container : snapshot.containers()) {
    if (container.finished() || container.trouble().empty()) continue;
    if (troubled.empty()) first = container.trouble();
    troubled.push_back(container.namespace_() + "/" + container.pod() + "/" + container.name());
  }
  if (troubled.empty()) return good(id, "every container runs where it should");
  return error(id,
               std::to_string(troubled.size()) + " container(s) in trouble: " + some_of(troubled) +
                   "; the first: " + first,
               "pinionctl ps shows each; docs/operate.md says what each trouble means. Where a "
               "cpuset is changed again and again, another program pins: the kubelet's static "
               "policy, another NRI plugin, a script");
}

// Where several run: which of them all findings are about.
Findings company(const AgentFacts& agent) {
  if (agent.others.empty()) return {};
  std::vector<std::string> others;
  for (const int pid : agent.others) others.push_back(std::to_string(pid));
  const std::string one = std::to_string(agent.pid);
  return {warning("agent",
                  "several pinion-agents run here; this is about process " + one +
                      ", not about: " + some_of(others),
                  "stop those that are left over; where each has a runtime of its own, --agent "
                  "asks another one, and the settings shown stay those of process " +
                      one)};
}

}  // namespace

Findings check_agent(const AgentFacts& agent) {
  Findings findings = company(agent);
  if (!agent.snapshot) {
    findings.push_back(silent(agent));
    return with_unread(std::move(findings), "agent", agent.unread);
  }
  const v1::NodeState& node = agent.snapshot->node();
  findings.push_back(
      good("agent", "pinion-agent " + node.version() + " answers at " + agent.address));
  findings.push_back(ready(node));
  findings.push_back(fence(node, agent.configured_fence));
  findings.push_back(drift(*agent.snapshot));
  return findings;
}

Findings check_perf(const PerfFacts& perf, const AgentFacts& agent) {
  const std::string id = "perf";
  const std::string advice =
      "give the agent CAP_PERFMON (the chart and the unit file do), and let its seccomp profile "
      "pass perf_event_open; or lower the sysctl kernel.perf_event_paranoid to 0. On Debian, 3 "
      "takes no CAP_PERFMON: set 2";
  const std::string level =
      perf.paranoid ? " (perf_event_paranoid is " + std::to_string(*perf.paranoid) + ")" : "";
  if (agent.snapshot) {
    std::vector<std::string> refused;
    std::size_t counted = 0;
    for (const v1::EventSupport& event : agent.snapshot->node().events()) {
      if (event.availability() == "not permitted") refused.push_back(event.event());
      if (event.availability() == "counted") ++counted;
    }
    if (!refused.empty()) {
      return {warning(id, "the agent may not count " + some_of(refused) + level, advice)};
    }
    return {good(id, "the agent counts " + std::to_string(counted) + " event(s)" + level)};
  }
  // An agent that cannot be asked: by its rights. Events of a group on all its CPUs are refused to
  // others above level 0.
  if (agent.capabilities) {
    const bool may = (*agent.capabilities & (kPerfmon | kSysAdmin)) != 0;
    if (!may && perf.paranoid.value_or(0) > 0) {
      return {warning(id, "the agent has no CAP_PERFMON" + level, advice)};
    }
    return {good(id, "the agent has the right to count" + level)};
  }
  if (!perf.paranoid) {
    return {unknown(
        id, Error{.code = Errc::kNotFound, .text = "no agent to ask, and no perf_event_paranoid"})};
  }
  return {good(id, "no agent to ask; with CAP_PERFMON it may count" + level)};
}

}  // namespace pinion::ctl::doctor
