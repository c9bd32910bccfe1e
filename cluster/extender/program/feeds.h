// What the API server and the agents tell, brought to the pod scheduler.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log/log.h"
#include "cluster/extender/agents/agents.h"
#include "cluster/extender/kube/watch.h"
#include "cluster/extender/program/job_follower.h"
#include "cluster/extender/program/learnt_profiles.h"
#include "cluster/extender/program/refused_pods.h"
#include "cluster/extender/service/placing.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster {

// A watch's trouble, and the first complete picture.
class Feed : public kube::WatchHandler {
 public:
  Feed(std::string what, Log& log) : what_(std::move(what)), log_(log) {}

  void on_synced(std::uint64_t generation) override;
  void on_trouble(const Error& error, std::chrono::milliseconds pause) override;
  [[nodiscard]] bool synced() const { return synced_; }

 protected:
  Log& log() { return log_; }

 private:
  const std::string what_;
  Log& log_;
  std::atomic<bool> synced_ = false;
};

// Pods: seen and gone.
class PodFeed : public Feed {
 public:
  using View = Result<wire::PodSpecView>;
  // Is told of each pod, too: of one that makes no sense with the error.
  using Look = std::function<void(kube::Change, const kube::RawObject&, const View&)>;

  PodFeed(Placing& placing, JobFollower& jobs, RefusedPods& refused, Look look, Log& log)
      : Feed("pods", log),
        placing_(placing),
        jobs_(jobs),
        refused_(refused),
        look_(std::move(look)) {}

  Status on_raw(kube::Change change, const kube::RawObject& object) override;

 private:
  void gone(const std::string& uid);
  void seen(const wire::PodSpecView& view);

  Placing& placing_;
  JobFollower& jobs_;
  RefusedPods& refused_;
  const Look look_;
  wire::Reader reader_;
};

// Nodes: what decides there beside CPUs.
class NodeFeed : public Feed {
 public:
  using Look = std::function<void(kube::Change, const nlohmann::json&)>;

  // `look` is told of each, too.
  NodeFeed(Placing& placing, Look look, Log& log)
      : Feed("nodes", log), placing_(placing), look_(std::move(look)) {}

  void on_object(kube::Change change, const nlohmann::json& object) override;

 private:
  Placing& placing_;
  const Look look_;
};

// PodGroups of one API, where the API server has them.
class PodGroupFeed : public Feed {
 public:
  PodGroupFeed(PodGroupApi api, Placing& placing, Log& log);

  void on_object(kube::Change change, const nlohmann::json& object) override;
  void on_synced(std::uint64_t generation) override;
  void on_trouble(const Error& error, std::chrono::milliseconds pause) override;
  void on_list_failed(const Error& error) override;
  // All are known, or there are none to be had.
  [[nodiscard]] bool complete() const { return complete_; }
  // On any thread.
  [[nodiscard]] bool served() const { return served_; }

  // In a row, after a complete one: with the watch's back-off more than a minute.
  static constexpr int kRefusedLists = 10;

 private:
  void serve(bool served);

  const PodGroupApi api_;
  Placing& placing_;
  int refused_lists_ = 0;
  std::atomic<bool> complete_ = false;
  std::atomic<bool> served_ = false;
};

// The agents' pods: where which agent is reached. Only those count that are ready and not being
// deleted, so an agent that becomes ready is one that was not known before, and is tried at once.
class AgentPodFeed : public Feed {
 public:
  using Found = std::function<void(const std::vector<AgentAddress>& agents)>;

  // How each is reached at its pod's IP; `server_name` is a pattern (server_name.h).
  struct Interface {
    int port = 0;
    std::string server_name;
  };

  // `found` is called with all that are known, from when the list is complete, with each change.
  AgentPodFeed(Interface interface, Found found, Log& log)
      : Feed("agents", log), interface_(std::move(interface)), found_(std::move(found)) {}

  void on_object(kube::Change change, const nlohmann::json& object) override;
  void on_synced(std::uint64_t generation) override;

 private:
  struct AgentPod {
    std::string created;  // ascending as the time does
    AgentAddress agent;

    bool operator==(const AgentPod&) const = default;
  };

  [[nodiscard]] std::optional<AgentPod> agent_of(const nlohmann::json& pod) const;
  void tell() const;

  const Interface interface_;
  const Found found_;
  std::map<std::string, AgentPod> by_uid_;
};

// What the agents' streams say.
class AgentFeed : public AgentSink {
 public:
  // Without `learnt` nobody is told what containers have used.
  AgentFeed(Placing& placing, LearntProfiles* learnt, Log& log)
      : placing_(placing), learnt_(learnt), log_(log) {}

  void reported(const std::string& node, NodeReport report) override;
  bool measured(const std::string& node, MissRates rates) override;
  bool heard(const std::string& node) override;
  void unlinked(const std::string& node) override;
  [[nodiscard]] bool wants_uses() const override { return learnt_ != nullptr; }
  void used(const std::string& node, const std::vector<ContainerUse>& uses) override;
  void connected(const std::string& node) override;
  void lost(const std::string& node, const Error& why) override;
  // Promises that a report left no room for.
  [[nodiscard]] std::uint64_t lost_promises() const { return lost_promises_; }

 private:
  Placing& placing_;
  LearntProfiles* const learnt_;
  Log& log_;
  std::atomic<std::uint64_t> lost_promises_ = 0;
};

}  // namespace pinion::cluster
