#include "ctl/doctor/check_cluster.h"

#include <set>

#include "ctl/doctor/checks.h"
#include "ctl/doctor/words.h"

namespace pinion::ctl::doctor {
namespace {

constexpr std::int64_t kAhead = 2;  // seconds that a renewal may lie in our future
constexpr std::int64_t kLate = 40;  // in our past: the kubelet renews every 10 s, or the node
                                    // would not be ready any more (nodeMonitorGracePeriod)

std::vector<const ClusterPod*> of_program(const std::vector<ClusterPod>& pods,
                                          const std::string& program) {
  std::vector<const ClusterPod*> found;
  for (const ClusterPod& pod : pods) {
    if (pod.program == program) found.push_back(&pod);
  }
  return found;
}

// The sum over all labels.
double sum_of(const Series& series, const std::string& name) {
  double sum = 0;
  for (auto at = series.lower_bound(name); at != series.end() && at->first.starts_with(name);
       ++at) {
    const std::string rest = at->first.substr(name.size());
    if (rest.empty() || rest.front() == '{') sum += at->second;
  }
  return sum;
}

// Of the calls that a scheduler makes for each pod.
double filter_calls(const Series& series) {
  double sum = 0;
  for (const auto& [name, value] : series) {
    if (name.starts_with("pinion_extender_http_calls_total{") &&
        name.find("verb=\"filter\"") != std::string::npos) {
      sum += value;
    }
  }
  return sum;
}

std::string whole(double value) {
  return std::to_string(static_cast<std::int64_t>(value));
}

// What the leader says of itself.
Findings check_leader(const Series& series, std::size_t ready_agents) {
  Findings findings;
  const double connected = sum_of(series, "pinion_extender_agents_connected");
  if (connected < static_cast<double>(ready_agents)) {
    findings.push_back(
        error("agents-silent",
              "the extender hears " + whole(connected) + " of " + std::to_string(ready_agents) +
                  " agents: nothing is placed on the nodes of the others",
              "look at the extender's log for their names; the usual causes are certificates "
              "(agentServerName, the CA on both sides) and a NetworkPolicy on the agents' port"));
  } else if (const auto stale = series.find("pinion_extender_nodes{state=\"stale\"}");
             stale != series.end() && stale->second > 0) {
    findings.push_back(error("agents-silent",
                             whole(stale->second) + " node(s) have an agent that is silent or has "
                                                    "lost its runtime",
                             "pinionctl doctor on those nodes; the extender's page names them"));
  } else {
    findings.push_back(good("agents-silent", "the extender hears all agents"));
  }
  if (filter_calls(series) == 0) {
    findings.push_back(
        warning("scheduler",
                "no scheduler has asked this extender since it started: pods are placed without "
                "regard to free cores, or wait for pinion.dev/managed",
                "add the extender to KubeSchedulerConfiguration (docs/install.md) or set "
                "schedulerName of the pods; where no pod with whole CPUs was made since, all is "
                "well"));
  } else {
    findings.push_back(good("scheduler", "a scheduler asks the extender"));
  }
  return findings;
}

// For `all` of the facts that could not be read.
Finding not_read(const std::string& id, const Error& why) {
  Finding finding = unknown(id, why);
  if (why.code == Errc::kDenied) {
    finding.advice = "let who asks list nodes, pods, leases and webhook configurations";
  }
  return finding;
}

}  // namespace

Findings check_agents(const ClusterFacts& facts) {
  const std::string id = "agents";
  if (!facts.nodes) return {not_read(id, facts.nodes.error())};
  if (!facts.pods) return {not_read(id, facts.pods.error())};
  std::set<std::string> with_agent;
  std::vector<std::string> unwell;
  for (const ClusterPod* pod : of_program(*facts.pods, "pinion-agent")) {
    with_agent.insert(pod->node);
    if (!pod->ready) {
      unwell.push_back(pod->name + " on " + (pod->node.empty() ? "no node" : pod->node) +
                       (pod->waiting.empty() ? "" : " (" + pod->waiting + ")"));
    }
  }
  std::vector<std::string> bare;
  for (const ClusterNode& node : *facts.nodes) {
    if (node.linux && !with_agent.contains(node.name)) bare.push_back(node.name);
  }
  Findings findings;
  if (!bare.empty()) {
    findings.push_back(warning(id,
                               std::to_string(bare.size()) + " of " +
                                   std::to_string(facts.nodes->size()) +
                                   " nodes have no agent: " + some_of(bare),
                               "containers there are not pinned, and the extender sends no job "
                               "there; look at the DaemonSet's nodeSelector and tolerations"));
  }
  if (!unwell.empty()) {
    findings.push_back(error(id, "agents that are not ready: " + some_of(unwell),
                             "kubectl logs of each; on its node: pinionctl doctor"));
  }
  if (findings.empty()) {
    findings.push_back(
        good(id, std::to_string(with_agent.size()) + " agent(s), one on each node, all ready"));
  }
  return findings;
}

Findings check_extender(const ClusterFacts& facts) {
  const std::string id = "extender";
  if (!facts.pods) return {not_read(id, facts.pods.error())};
  const auto extenders = of_program(*facts.pods, "pinion-extender");
  if (extenders.empty()) return {good(id, "none in this cluster: agents alone")};
  std::vector<std::string> unwell;
  std::size_t leaders = 0;
  for (const ClusterPod* pod : extenders) {
    if (pod->leads) ++leaders;
    if (!pod->ready) {
      unwell.push_back(pod->name + (pod->waiting.empty() ? "" : " (" + pod->waiting + ")"));
    }
  }
  Findings findings;
  if (!unwell.empty()) {
    findings.push_back(
        error(id, "extenders that are not ready: " + some_of(unwell), "kubectl logs of each"));
  }
  if (leaders != 1) {
    findings.push_back(
        error(id,
              std::to_string(leaders) + " extenders lead: the scheduler's calls reach " +
                  (leaders == 0 ? "nobody" : "several"),
              "look at the Lease pinion-extender and the extenders' logs; after a killed leader it "
              "takes up to ten seconds until another one leads"));
  }
  if (!facts.leader) return findings;
  if (!*facts.leader) {
    findings.push_back(not_read("scheduler", facts.leader->error()));
    return findings;
  }
  if (findings.empty()) findings.push_back(good(id, "one leads, all are ready"));
  std::size_t ready_agents = 0;
  for (const ClusterPod* pod : of_program(*facts.pods, "pinion-agent")) {
    if (pod->ready) ++ready_agents;
  }
  for (Finding& each : check_leader(**facts.leader, ready_agents)) {
    findings.push_back(std::move(each));
  }
  return findings;
}

Findings check_webhooks(const ClusterFacts& facts) {
  const std::string id = "webhook";
  if (!facts.webhooks) return {not_read(id, facts.webhooks.error())};
  if (facts.webhooks->empty()) {
    const bool extender = facts.pods && !of_program(*facts.pods, "pinion-extender").empty();
    if (!extender) return {good(id, "none in this cluster")};
    return {error(id, "no webhook is registered: jobs are not cut, pods not marked",
                  "helm upgrade; or apply deploy/base again")};
  }
  Findings findings;
  for (const Webhook& webhook : *facts.webhooks) {
    const std::string cost = webhook.failure_policy == "Fail" ? "every job that asks to be cut is "
                                                                "refused"
                                                              : "pods pass unmarked";
    const auto certificates = x509::read_certificates(webhook.ca_bundle);
    if (webhook.ca_bundle.empty() || !certificates) {
      findings.push_back(error(
          id,
          webhook.name + (webhook.ca_bundle.empty() ? " has no caBundle" : "'s caBundle is none") +
              ": the API server trusts no certificate of it, and " + cost,
          "with cert-manager: see whether its cainjector runs; else the extender's log says why "
          "it does not write it"));
      continue;
    }
    const CertificateFile file{
        .use = webhook.name + "'s", .path = "caBundle", .certificates = *certificates};
    for (Finding each : check_certificates({file}, facts.now)) {
      if (each.severity == Severity::kGood) continue;
      each.id = id;
      findings.push_back(std::move(each));
    }
  }
  if (findings.empty()) {
    findings.push_back(good(id, std::to_string(facts.webhooks->size()) +
                                    " webhook(s), each with a caBundle that is valid"));
  }
  return findings;
}

Findings check_clocks(const ClusterFacts& facts) {
  const std::string id = "clocks";
  if (!facts.renewals) return {not_read(id, facts.renewals.error())};
  if (!facts.nodes) return {not_read(id, facts.nodes.error())};
  std::vector<std::string> wrong;
  for (const ClusterNode& node : *facts.nodes) {
    const auto renewal = facts.renewals->find(node.name);
    if (renewal == facts.renewals->end() || !node.ready) continue;  // silent: no clock's fault
    const std::int64_t ahead = renewal->second - facts.now;
    if (ahead > kAhead) wrong.push_back(node.name + " (" + std::to_string(ahead) + " s ahead)");
    if (-ahead > kLate) wrong.push_back(node.name + " (" + std::to_string(-ahead) + " s behind)");
  }
  if (wrong.empty()) return {good(id, "the nodes' clocks go with this machine's")};
  return {warning(id, "clocks that differ from this machine's: " + some_of(wrong),
                  "run chrony or another NTP client on each node, and here")};
}

Findings check_cluster(const ClusterFacts& facts) {
  // Where the API server is not reached, each of them would say the same.
  const auto same = [&](const auto& answer) {
    return !answer && !facts.nodes && answer.error().text == facts.nodes.error().text;
  };
  if (same(facts.pods) && same(facts.webhooks) && same(facts.renewals)) return check_agents(facts);
  Findings all;
  for (const auto& check : {check_agents, check_extender, check_webhooks, check_clocks}) {
    for (Finding& finding : check(facts)) all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace pinion::ctl::doctor
