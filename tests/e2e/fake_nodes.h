// Nodes with neither machine nor kubelet: an object of the API server and a FakeAgent each. One
// watch over the bound pods stands for all kubelets: it runs and ends containers at the agents.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/extender/kube/watch.h"
#include "tests/e2e/admin.h"
#include "tests/e2e/fake_agent.h"

namespace pinion::e2e {

// An agent would not take what was sent to its node.
struct Bounced {
  std::string node;
  std::string pod;
  std::string container;
  std::string text;
};

class FakeNodes : private kube::WatchHandler {
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
  FakeNodes(const FakeNodes&) = delete;
  FakeNodes& operator=(const FakeNodes&) = delete;
  ~FakeNodes() override;

  // Where each agent serves, by node; and the same as a file for --agents of pinion-extender.
  [[nodiscard]] std::map<std::string, std::string> addresses() const;
  [[nodiscard]] std::string agents_file() const;

  // As soon as the condition holds; false when it does not within a long time. The condition may
  // look at everything below.
  bool wait(const std::function<bool()>& condition);
  // All that was ever refused; and the same, for who has expected it.
  [[nodiscard]] std::vector<Bounced> bounced() const;
  std::vector<Bounced> take_bounced();
  // What each pod's containers hold, by the pod's name: only those that hold cores of their own.
  struct Held {
    std::string uid;
    std::string node;
    topology::CpuSet cpus;
  };
  [[nodiscard]] std::map<std::string, Held> held() const;
  // By the ledger of each node's agent.
  struct Room {
    std::vector<int> free_cpus;  // of each NUMA node
    int containers = 0;          // with cores of their own

    bool operator==(const Room&) const = default;
  };
  [[nodiscard]] std::map<std::string, Room> rooms() const;
  [[nodiscard]] std::size_t running() const;  // pods, with cores of their own or without

  // The streams of one agent; and where it is to serve again.
  void cut(const std::string& node);
  Status serve(const std::string& node);
  Status serve_at(const std::string& node, AgentPlace place);

  // From now on the API server is told, too, that a pod runs and is ready.
  void tell_ready() { tells_ready_ = true; }

 private:
  struct PodRun {
    std::string node;
    std::string name;
    std::vector<FakeAgent::Unit> units;  // that run
  };

  explicit FakeNodes(const kube::Access& access) : admin_(access) {}

  void on_object(kube::Change change, const nlohmann::json& pod) override;
  void on_synced(std::uint64_t generation) override;
  // What of it the agent refuses.
  std::vector<Bounced> begin(const std::string& uid, const nlohmann::json& pod, FakeAgent& agent);
  void end(const std::string& uid);

  Admin admin_;
  mutable std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::unique_ptr<FakeAgent>> agents_;  // by node
  std::map<std::string, PodRun> pods_;                        // by uid
  std::vector<Bounced> bounced_;
  std::unique_ptr<kube::Watch> watch_;  // the last: it uses all the others
  std::atomic<bool> tells_ready_ = false;
};

}  // namespace pinion::e2e
