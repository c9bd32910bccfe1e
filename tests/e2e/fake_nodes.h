// Nodes with neither machine nor kubelet: an object of the API server and a FakeAgent each. One
// watch over the bound pods stands for all kubelets: it runs and ends containers at the agents.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/fake_agent.h"
#include "tests/e2e/nodes.h"

namespace pinion::e2e {

class FakeNodes : public Nodes {
 public:
  // Where the agent of a node serves.
  using PlaceOf = std::function<AgentPlace(const std::string& node)>;
  static PlaceOf sockets_in(const std::string& folder);

  // The nodes are made at the API server too. Errors: as Admin and FakeAgent::start().
  static Result<std::unique_ptr<FakeNodes>> start(const kube::Access& access,
                                                  const PlaceOf& place_of,
                                                  const std::vector<std::string>& names,
                                                  const topology::Topology& machine,
                                                  const engine::Settings& settings = {});
  ~FakeNodes() override;

  [[nodiscard]] std::map<std::string, std::string> addresses() const override;
  [[nodiscard]] std::map<std::string, Held> held() const override;
  [[nodiscard]] std::map<std::string, Room> rooms() const override;
  [[nodiscard]] std::size_t running() const override;

  // The streams of one agent; and where it is to serve again.
  void cut(const std::string& node);
  Status serve_at(const std::string& node, AgentPlace place);

 private:
  struct PodRun {
    std::string node;
    std::string name;
    std::vector<FakeAgent::Unit> units;  // that run
  };

  explicit FakeNodes(const kube::Access& access) : Nodes(access) {}

  void on_object(kube::Change change, const nlohmann::json& pod) override;
  // What of it the agent refuses.
  std::vector<Bounced> begin(const std::string& uid, const nlohmann::json& pod, FakeAgent& agent);
  void end(const std::string& uid);

  std::map<std::string, std::unique_ptr<FakeAgent>> agents_;  // by node
  std::map<std::string, PodRun> pods_;                        // by uid
};

}  // namespace pinion::e2e
