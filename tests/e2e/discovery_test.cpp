// Agents that are found by the labels of their pods, as the chart has it: no list of
// them is given, they serve on TCP, each at an address of its own and all at one port.
#include <gtest/gtest.h>

#include <map>

#include "cluster/extender/kube/path.h"
#include "tests/e2e/scene.h"
#include "tests/lab/files.h"
#include "tests/unit/api/certificates.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;

constexpr const char* kAgentNamespace = "kube-system";

class Discovery : public Scene {
 protected:
  [[nodiscard]] std::string agents_file() const override { return ""; }

  void SetUp() override {
    Scene::SetUp();
    if (IsSkipped() || HasFailure()) return;
    if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl";
    ASSERT_TRUE(agent::api::make_certificates(cluster().folder(), "agents"));
    server_ = agent::api::files_of(cluster().folder(), "agents", "server");
    client_ = agent::api::files_of(cluster().folder(), "agents", "client");
    port_ = free_port();
  }

  // "node-0" has the agent at 127.0.0.2, and so on.
  void start_nodes_on_tcp(int count) {
    int last = 1;
    start_fakes(count, [&](const std::string&) { return at("127.0.0." + std::to_string(++last)); });
  }
  void start_extender_that_looks(const std::string& server_name = "agent.test") {
    start_extender({"--agent-port", std::to_string(port_), "--agent-namespace", kAgentNamespace,
                    "--agent-cert", client_.certificate, "--agent-key", client_.key, "--agent-ca",
                    client_.ca, "--agent-server-name", server_name});
  }
  [[nodiscard]] AgentPlace at(const std::string& host) const {
    return {.address = host + ":" + std::to_string(port_), .tls = server_};
  }

  // As a DaemonSet's pod on the node; without `host` it is not running yet.
  void add_agent(const std::string& node, const std::string& host,
                 const std::string& label = "pinion-agent") {
    add_labelled(kAgentNamespace, "agent-of-" + node, node, label);
    if (!host.empty()) run_agent(node, host);
  }
  void run_agent(const std::string& node, const std::string& host) {
    say_running(kAgentNamespace, "agent-of-" + node, host, true);
  }
  void remove_agent(const std::string& node) {
    const std::string path = kube::pod_path(kAgentNamespace, "agent-of-" + node);
    ASSERT_TRUE(ok(admin().remove(path + "?gracePeriodSeconds=0")));
  }
  void add_labelled(const std::string& name_space, const std::string& name, const std::string& node,
                    const std::string& label) {
    json pod = pod_object({.name = name, .burstable = true});
    pod["metadata"]["namespace"] = name_space;
    pod["metadata"]["labels"] = {{"app.kubernetes.io/name", label}};
    pod["spec"]["nodeName"] = node;
    ASSERT_TRUE(ok(admin().api().create("/api/v1/namespaces/" + name_space + "/pods", pod)));
  }
  // As a kubelet says it.
  void say_running(const std::string& name_space, const std::string& name, const std::string& host,
                   bool ready) {
    const json status = {
        {"phase", "Running"},
        {"podIP", host},
        {"podIPs", json::array({{{"ip", host}}})},
        {"conditions", json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}};
    ASSERT_TRUE(ok(admin().api().patch(kube::pod_path(name_space, name, "status"),
                                       kube::PatchKind::kMerge, {{"status", status}})));
  }

  bool hears(int agents) {
    return lab::eventually(
        kPatience, [&] { return extender().figure("pinion_extender_agents_connected") == agents; });
  }

  int port_ = 0;  // of all of them
  agent::api::TlsFiles server_;
  agent::api::TlsFiles client_;
};

// One pod has another label; with the right one it counts from when it runs.
TEST_F(Discovery, AgentsAreFoundByTheirPods) {
  start_nodes_on_tcp(3);
  add_agent("node-0", "127.0.0.2");
  add_agent("node-1", "127.0.0.3");
  add_agent("node-2", "127.0.0.4", "somebody-else");
  start_extender_that_looks();
  start_scheduler({});
  ASSERT_TRUE(hears(2));
  const Gang gang{.job = "gang", .size = 4, .cpus = 12, .groups = 2};
  add(gang);
  ASSERT_TRUE(run(names(gang)));
  for (const std::string& name : names(gang)) EXPECT_NE(node_of_pod(name), "node-2") << name;
  remove_agent("node-2");
  add_agent("node-2", "");
  add(PodShape{.name = "one", .milli_cpus = 12'000});
  ASSERT_TRUE(wait_in_vain({"one"}));
  run_agent("node-2", "127.0.0.4");
  ASSERT_TRUE(hears(3));
  ASSERT_TRUE(run({"one"}));
  EXPECT_EQ(node_of_pod("one"), "node-2") << "the others are full";
}

TEST_F(Discovery, AnAgentThatComesBackElsewhereIsFollowed) {
  start_nodes_on_tcp(1);
  add_agent("node-0", "127.0.0.2");
  start_extender_that_looks();
  start_scheduler({});
  add(PodShape{.name = "before", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"before"}));

  fakes().cut("node-0");
  remove_agent("node-0");
  ASSERT_TRUE(hears(0));
  ASSERT_TRUE(ok(fakes().serve_at("node-0", at("127.0.0.9"))));
  add_agent("node-0", "127.0.0.9");
  ASSERT_TRUE(hears(1));
  add(PodShape{.name = "after", .milli_cpus = 12'000});
  EXPECT_TRUE(run({"after"}));
  EXPECT_TRUE(agents_and_extender_agree());
}

// Nobody listens at their addresses. The last ones are where they ought to be and newer, but not
// ready.
TEST_F(Discovery, PodsWithTheLabelElsewhereNeitherSpeakForANodeNorSilenceItsAgent) {
  start_nodes_on_tcp(1);
  add_agent("node-0", "127.0.0.2");
  for (int i = 0; i < 10; ++i) {
    const std::string name = "impostor-" + std::to_string(i);
    const std::string name_space = i < 5 ? "default" : kAgentNamespace;
    add_labelled(name_space, name, "node-0", "pinion-agent");
    say_running(name_space, name, "127.0.0.77", i < 5);
  }
  start_extender_that_looks();
  start_scheduler({});
  ASSERT_TRUE(hears(1));
  add(PodShape{.name = "one", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"one"}));
  EXPECT_EQ(extender().figure("pinion_extender_agent_failures_total"), 0);
}

// The pod of node-1's agent is said to be at the address of node-0's, until it is not.
TEST_F(Discovery, WhoHasTheCertificateOfAnotherNodeIsNotHeard) {
  const std::map<std::string, std::string> hosts{{"node-0", "127.0.0.2"}, {"node-1", "127.0.0.3"}};
  for (const auto& [node, host] : hosts) {
    ASSERT_TRUE(agent::api::make_certificate(cluster().folder(), "agents", node,
                                             "DNS:" + node + ".pinion-agent"));
  }
  start_fakes(2, [&](const std::string& node) {
    server_ = agent::api::files_of(cluster().folder(), "agents", node);
    return at(hosts.at(node));
  });
  add_agent("node-0", "127.0.0.2");
  add_agent("node-1", "127.0.0.2");
  start_extender_that_looks("{node}.pinion-agent");
  start_scheduler({});
  ASSERT_TRUE(hears(1));
  add(PodShape{.name = "one", .milli_cpus = 12'000});
  add(PodShape{.name = "two", .milli_cpus = 12'000});
  ASSERT_TRUE(run({"one", "two"}));
  add(PodShape{.name = "three", .milli_cpus = 12'000});
  ASSERT_TRUE(wait_in_vain({"three"}));
  run_agent("node-1", "127.0.0.3");
  ASSERT_TRUE(hears(2));
  ASSERT_TRUE(run({"three"}));
  EXPECT_EQ(node_of_pod("three"), "node-1");
}

}  // namespace
}  // namespace pinion::e2e
