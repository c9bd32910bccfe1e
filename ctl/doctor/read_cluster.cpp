#include "ctl/doctor/read_cluster.h"

#include "ctl/doctor/cluster_objects.h"

namespace pinion::ctl::doctor {
namespace {

constexpr const char* kTimeout = "--request-timeout=20s";

// What kubectl prints, read.
template <class Read>
auto ask(const Kubectl& kubectl, const std::vector<std::string>& arguments, const Read& read)
    -> decltype(read(std::string())) {
  const auto text = kubectl(arguments);
  if (!text) return failure(text.error());
  auto value = read(*text);
  if (!value) return failure(std::move(value.error()).within("kubectl get " + arguments.at(1)));
  return value;
}

const ClusterPod* leader_of(const std::vector<ClusterPod>& pods) {
  for (const ClusterPod& pod : pods) {
    if (pod.program == "pinion-extender" && pod.leads) return &pod;
  }
  return nullptr;
}

// Through the API server, which passes on to pods; metrics ask for no certificate.
Result<Series> metrics_of(const Kubectl& kubectl, const ClusterPod& pod) {
  return ask(kubectl,
             {"get", "--raw",
              "/api/v1/namespaces/" + pod.name_space + "/pods/https:" + pod.name + ":" +
                  std::to_string(pod.web_port) + "/proxy/metrics",
              kTimeout},
             &read_series);
}

}  // namespace

ClusterFacts read_cluster(const Kubectl& kubectl, const Clock& clock) {
  ClusterFacts facts;
  facts.nodes = ask(kubectl, {"get", "nodes", "-o", "json", kTimeout}, &read_nodes);
  facts.pods =
      ask(kubectl,
          {"get", "pods", "--all-namespaces", "-l",
           "app.kubernetes.io/name in (pinion-agent,pinion-extender)", "-o", "json", kTimeout},
          &read_pods);
  facts.webhooks = ask(kubectl,
                       {"get", "mutatingwebhookconfigurations", "-l",
                        "app.kubernetes.io/part-of=pinion", "-o", "json", kTimeout},
                       &read_webhooks);
  facts.renewals = ask(kubectl, {"get", "leases", "-n", "kube-node-lease", "-o", "json", kTimeout},
                       &read_renewals);
  facts.now = clock();
  if (facts.pods) {
    if (const ClusterPod* leader = leader_of(*facts.pods)) {
      facts.leader = metrics_of(kubectl, *leader);
    }
  }
  return facts;
}

}  // namespace pinion::ctl::doctor
