#include "ctl/doctor/checks.h"
#include "ctl/doctor/words.h"

namespace pinion::ctl::doctor {
namespace {

constexpr std::int64_t kMilli = 1000;

std::string list_or_none(const topology::CpuSet& cpus) {
  return cpus.empty() ? "none" : cpus.to_string();
}

Findings cpu_manager(const KubeletFacts& kubelet) {
  const std::string id = "kubelet-cpu-manager";
  if (kubelet.state_policy == "static") {
    return {error(id,
                  "the kubelet pins containers itself: " + kubelet.state_path +
                      " says policy static, and the agent does not start beside it",
                  "drain the node, set cpuManagerPolicy: none in the kubelet's configuration, "
                  "delete that file, start the kubelet, then the agent")};
  }
  if (kubelet.settings && kubelet.settings->cpu_manager_policy == "static") {
    return {error(id,
                  kubelet.config_path + " says cpuManagerPolicy: static: the kubelet will pin "
                                        "containers itself when it starts the next time",
                  "drain the node, set cpuManagerPolicy: none there, delete " + kubelet.state_path +
                      ", and start the kubelet anew")};
  }
  if (!kubelet.running && !kubelet.settings && !kubelet.state_policy) {
    return {good(id, "no kubelet on this node")};
  }
  return {good(id, "the kubelet leaves CPUs alone (policy none)")};
}

Findings memory_manager(const KubeletFacts& kubelet) {
  const std::string id = "kubelet-memory-manager";
  if (!kubelet.settings) return {};
  const std::string& policy = kubelet.settings->memory_manager_policy;
  if (policy.empty() || policy == "None") {
    return {good(id, "the kubelet leaves memory nodes alone (policy None)")};
  }
  return {error(id,
                kubelet.config_path + " says memoryManagerPolicy: " + policy +
                    ": the kubelet binds memory to NUMA nodes of its own choice, away from the "
                    "CPUs that the agent gives",
                "drain the node, set memoryManagerPolicy: None, delete memory_manager_state "
                "beside cpu_manager_state, and start the kubelet anew")};
}

// What the agent keeps, and from where that is known.
struct Reserved {
  topology::CpuSet cpus;
  std::string source;
};

std::optional<Reserved> agent_reserved(const AgentFacts& agent) {
  if (agent.snapshot) {
    auto cpus = topology::CpuSet::parse(agent.snapshot->node().sets().reserved());
    if (cpus) return Reserved{.cpus = *std::move(cpus), .source = "the agent"};
  }
  if (!agent.configured_reserved) return std::nullopt;
  return Reserved{.cpus = *agent.configured_reserved, .source = agent.config_path};
}

Finding compare_reserved(const KubeletFacts& kubelet, const Reserved& reserved) {
  const std::string id = "reserved-cpus";
  const std::string theirs = reserved.source + " reserves " + list_or_none(reserved.cpus);
  const KubeletSettings& settings = *kubelet.settings;
  const std::string advice =
      "state the same reservedSystemCPUs in " +
      (kubelet.config_path.empty() ? "the kubelet's configuration" : kubelet.config_path) +
      " and in the agent's configuration";
  if (settings.reserved_cpus) {
    if (*settings.reserved_cpus != reserved.cpus) {
      return error(id,
                   theirs + " and the kubelet " + list_or_none(*settings.reserved_cpus) +
                       ": the scheduler counts on other CPUs than there are",
                   advice);
    }
    return good(id, "kubelet and agent reserve " + list_or_none(reserved.cpus));
  }
  // By amount: the scheduler may hand out what is not kept back.
  const std::int64_t kept = reserved.cpus.count() * kMilli;
  if (settings.reserved_milli < kept) {
    return error(id,
                 theirs + " and the kubelet keeps back " + std::to_string(settings.reserved_milli) +
                     " thousandths of a CPU: the scheduler sends pods that do not fit",
                 advice);
  }
  return good(id, theirs + ", and the kubelet keeps back as much CPU");
}

}  // namespace

Findings check_kubelet_managers(const KubeletFacts& kubelet) {
  Findings findings = cpu_manager(kubelet);
  const Findings memory = memory_manager(kubelet);
  findings.insert(findings.end(), memory.begin(), memory.end());
  return with_unread(std::move(findings), "kubelet-cpu-manager", kubelet.unread);
}

Findings check_reserved(const KubeletFacts& kubelet, const AgentFacts& agent) {
  const std::string id = "reserved-cpus";
  const auto reserved = agent_reserved(agent);
  if (!reserved) {
    return {unknown(id, Error{.code = Errc::kNotFound,
                              .text = "neither an agent nor its configuration says which CPUs "
                                      "are reserved"})};
  }
  if (!kubelet.settings) {
    if (!kubelet.unread.empty()) return {unknown(id, kubelet.unread.front())};
    if (kubelet.running) {
      return {unknown(
          id, Error{.code = Errc::kNotFound, .text = "the kubelet's configuration was not found"})};
    }
  }
  const Finding found =
      kubelet.settings ? compare_reserved(kubelet, *reserved)
                       : good(id, reserved->source + " reserves " + list_or_none(reserved->cpus) +
                                      ", and there is no kubelet to differ");
  if (found.severity == Severity::kGood && reserved->cpus.empty()) {
    return {warning(id,
                    "no CPU is reserved: where all others are exclusive, system daemons and the "
                    "agent have to run among ranks",
                    "reserve a core: reservedSystemCPUs in the configuration of the kubelet and "
                    "of the agent")};
  }
  return {found};
}

}  // namespace pinion::ctl::doctor
