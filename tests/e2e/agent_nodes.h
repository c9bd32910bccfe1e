// Nodes without machines whose agents are real: pinion-agent itself on an imagined machine, and a
// runtime that calls it over NRI as containerd does (tests/e2e/nodes). What the agents answer goes
// nowhere but into the runtime's record. That is compared at each event with what the extender has
// planned, and that no two containers have a core in common.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/cluster.h"
#include "tests/e2e/node_agent.h"
#include "tests/e2e/node_runtime.h"
#include "tests/e2e/nodes.h"
#include "topology/topology.h"

namespace pinion::e2e {

class AgentNodes : public Nodes {
 public:
  // Nodes of 2 x 8 cores with two threads each, made at the API server too; the agents are ready.
  // Errors: kNotFound where the runtime's program is not built; as Admin and NodeAgent.
  static Result<std::unique_ptr<AgentNodes>> start(Cluster& cluster,
                                                   const std::vector<std::string>& names);
  ~AgentNodes() override;

  [[nodiscard]] std::map<std::string, std::string> addresses() const override;
  [[nodiscard]] std::map<std::string, Held> held() const override;
  [[nodiscard]] std::map<std::string, Room> rooms() const override;
  [[nodiscard]] std::size_t running() const override;

  // Containers that have begun and not ended.
  [[nodiscard]] std::size_t started() const;

  // SIGKILL to the agent of a node; and it is started again, and knows all containers.
  void kill_agent(const std::string& node) { agents_.at(node)->kill(); }
  Status restart_agent(const std::string& node);

  // Nothing is planned for this pod: who binds it knows nothing of cores. To be said before that.
  void expect_no_plan(const std::string& pod);
  // Everything that was ever otherwise than planned, or not disjoint: one line each; and how often
  // anything was compared.
  [[nodiscard]] std::vector<std::string> wrong() const;
  [[nodiscard]] int compared() const;
  // Where the runtime's record of a container is not what its agent has on its list, or a shared
  // one may use an exclusive core; "" when all is well. Waits until it is.
  [[nodiscard]] std::string difference() const;

 private:
  struct Container {
    std::string node;
    std::string pod;       // uid
    std::string name;      // the container's own
    std::int64_t own = 0;  // how many CPUs it is to have for itself alone
    topology::CpuSet planned{};
    topology::CpuSet cpus{};
    bool started = false;
  };
  struct PodRun {
    std::string node;
    std::string name;
    std::map<std::string, Container> containers;  // by id
    std::size_t to_start = 0;                     // containers that have not yet
    bool ends = false;
    bool asked = false;  // the API server still has it, and waits for its end
  };

  AgentNodes(const kube::Access& access, topology::Topology machine)
      : Nodes(access), machine_(std::move(machine)) {}

  void on_object(kube::Change change, const nlohmann::json& pod) override;
  void begin(const std::string& uid, const nlohmann::json& pod);
  // What the runtime says.
  void on_event(const nlohmann::json& event);
  void on_container(const nlohmann::json& event);
  // What the API server is to be told of it.
  Bounced refused(const nlohmann::json& event);
  void compare(const std::string& id, const Container& changed);
  [[nodiscard]] std::string difference_now() const;

  const topology::Topology machine_;
  std::map<std::string, std::unique_ptr<NodeAgent>> agents_;  // by node
  std::map<std::string, PodRun> pods_;                        // by uid, until they are gone
  std::map<std::string, Container> containers_;               // by id, that live
  std::set<std::string> without_plan_;                        // names of pods
  std::vector<std::string> wrong_;
  int compared_ = 0;
  std::unique_ptr<NodeRuntime> runtime_;  // the last: it uses all the others
};

}  // namespace pinion::e2e
