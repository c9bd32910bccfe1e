// Nodes that join with the taint pinion.dev/agent-not-ready get no pods before their agent is
// there: it is taken away once the agent's stream is up, which says that the runtime has told the
// agent all containers. It is not put back later: a node whose agent is lost gets no pods with
// whole CPUs anyway, and others need no agent.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log/log.h"
#include "cluster/extender/agents/agent_sink.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/object.h"
#include "cluster/extender/program/keyed_queue.h"

namespace pinion::cluster {

constexpr const char* kStartupTaint = "pinion.dev/agent-not-ready";

// The JSON patch that takes the taint, whatever its effect, from a v1 Node as it is here, and fails
// where the taints are others by now. Nothing: it has none.
[[nodiscard]] std::optional<nlohmann::json> without_startup_taint(const nlohmann::json& node);

class StartupTaint {
 public:
  struct Options {
    // After a try that failed, or while another leads; after several failures up to a minute.
    std::chrono::milliseconds retry{5'000};
  };

  // `may_act()`: asked before each patch, under a lock: it must be quick; nothing is done while
  // another replica leads. What is passed must outlive it.
  StartupTaint(kube::Api& api, Log& log, std::function<bool()> may_act, const Options& options);
  StartupTaint(kube::Api& api, Log& log, std::function<bool()> may_act)
      : StartupTaint(api, log, std::move(may_act), Options()) {}
  StartupTaint(const StartupTaint&) = delete;
  StartupTaint& operator=(const StartupTaint&) = delete;
  ~StartupTaint();

  // A node as it is now, or as it was when it was deleted. Only notes what is to be done.
  void seen(kube::Change change, const nlohmann::json& node);
  // Its agent's stream is up, or is not any more.
  void ready(const std::string& node, bool is_ready);

 private:
  Worked take_from(const std::string& node, const nlohmann::json& patch);

  kube::Api& api_;
  Log& log_;
  kube::Cancel cancel_;
  std::mutex mutex_;
  std::map<std::string, nlohmann::json> tainted_;  // the patch, by node
  std::set<std::string> ready_;
  KeyedQueue<std::string, nlohmann::json> queue_;  // by node; last: it uses all above
};

// Stands before the feed of agents, and tells both.
class ReadyAgents : public AgentSink {
 public:
  // Without a taint only the feed is told.
  ReadyAgents(AgentSink& next, StartupTaint* taint) : next_(next), taint_(taint) {}

  void reported(const std::string& node, NodeReport report) override {
    next_.reported(node, std::move(report));
  }
  bool measured(const std::string& node, MissRates rates) override {
    return next_.measured(node, std::move(rates));
  }
  bool heard(const std::string& node) override { return next_.heard(node); }
  void unlinked(const std::string& node) override { next_.unlinked(node); }
  [[nodiscard]] bool wants_uses() const override { return next_.wants_uses(); }
  void used(const std::string& node, const std::vector<ContainerUse>& uses) override {
    next_.used(node, uses);
  }
  void connected(const std::string& node) override;
  void lost(const std::string& node, const Error& why) override;

 private:
  AgentSink& next_;
  StartupTaint* const taint_;
};

}  // namespace pinion::cluster
