// Agents that are found by the labels of their pods, as deploy/extender.yaml has it: no list of
// them is given, they serve on TCP, each at an address of its own and all at one port.
#include <gtest/gtest.h>

#include "tests/e2e/scene.h"
#include "tests/lab/files.h"
#include "tests/unit/api/certificates.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;

constexpr const char* kAgents = "/api/v1/namespaces/kube-system/pods";

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
    start_nodes(count, [&](const std::string&) { return at("127.0.0." + std::to_string(++last)); });
  }
  void start_extender_that_looks() {
    start_extender({"--agent-port", std::to_string(port_), "--agent-cert", client_.certificate,
                    "--agent-key", client_.key, "--agent-ca", client_.ca, "--agent-server-name",
                    "agent.test"});
  }
  [[nodiscard]] AgentPlace at(const std::string& host) const {
    return {.address = host + ":" + std::to_string(port_), .tls = server_};
  }

  // As a DaemonSet's pod on the node; without `host` it is not running yet.
  void add_agent(const std::string& node, const std::string& host,
                 const std::string& label = "pinion-agent") {
    json pod = pod_object({.name = "agent-of-" + node, .burstable = true});
    pod["metadata"]["namespace"] = "kube-system";
    pod["metadata"]["labels"] = {{"app.kubernetes.io/name", label}};
    pod["spec"]["nodeName"] = node;
    ASSERT_TRUE(ok(admin().api().create(kAgents, pod)));
    if (!host.empty()) run_agent(node, host);
  }
  void run_agent(const std::string& node, const std::string& host) {
    const json running = {
        {"status",
         {{"phase", "Running"}, {"podIP", host}, {"podIPs", json::array({{{"ip", host}}})}}}};
    ASSERT_TRUE(
        ok(admin().api().patch(path_of_agent(node) + "/status", kube::PatchKind::kMerge, running)));
  }
  void remove_agent(const std::string& node) {
    ASSERT_TRUE(ok(admin().remove(path_of_agent(node) + "?gracePeriodSeconds=0")));
  }
  static std::string path_of_agent(const std::string& node) {
    return std::string(kAgents) + "/agent-of-" + node;
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

  nodes().cut("node-0");
  remove_agent("node-0");
  ASSERT_TRUE(hears(0));
  ASSERT_TRUE(ok(nodes().serve_at("node-0", at("127.0.0.9"))));
  add_agent("node-0", "127.0.0.9");
  ASSERT_TRUE(hears(1));
  add(PodShape{.name = "after", .milli_cpus = 12'000});
  EXPECT_TRUE(run({"after"}));
  EXPECT_TRUE(agents_and_extender_agree());
}

}  // namespace
}  // namespace pinion::e2e
