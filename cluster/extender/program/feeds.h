// What the API server and the agents tell, brought to the desk.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "agent/log.h"
#include "cluster/extender/agents/agents.h"
#include "cluster/extender/kube/watch.h"
#include "cluster/extender/program/hostfiles.h"
#include "cluster/extender/service/placing.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster {

// A watch's trouble, and the first complete picture.
class Feed : public kube::WatchHandler {
 public:
  Feed(std::string what, agent::Log& log) : what_(std::move(what)), log_(log) {}

  void on_synced(std::uint64_t generation) override;
  void on_trouble(const Error& error, std::chrono::milliseconds pause) override;
  [[nodiscard]] bool synced() const { return synced_; }

 protected:
  agent::Log& log() { return log_; }

 private:
  const std::string what_;
  agent::Log& log_;
  std::atomic<bool> synced_ = false;
};

// Pods: seen and gone.
class PodFeed : public Feed {
 public:
  PodFeed(Placing& placing, Hostfiles& hostfiles, agent::Log& log)
      : Feed("pods", log), placing_(placing), hostfiles_(hostfiles) {}

  void on_object(kube::Change change, const nlohmann::json& object) override;

 private:
  Placing& placing_;
  Hostfiles& hostfiles_;
  wire::Reader reader_;
};

// Nodes that are deleted.
class NodeFeed : public Feed {
 public:
  NodeFeed(Placing& placing, agent::Log& log) : Feed("nodes", log), placing_(placing) {}

  void on_object(kube::Change change, const nlohmann::json& object) override;

 private:
  Placing& placing_;
};

// PodGroups of scheduling.x-k8s.io, where the API server has them.
class PodGroupFeed : public Feed {
 public:
  PodGroupFeed(Placing& placing, agent::Log& log) : Feed("PodGroups", log), placing_(placing) {}

  void on_object(kube::Change change, const nlohmann::json& object) override;
  void on_synced(std::uint64_t generation) override;
  void on_trouble(const Error& error, std::chrono::milliseconds pause) override;
  // All are known, or there are none to be had.
  [[nodiscard]] bool settled() const { return settled_; }

 private:
  void serve(bool served);

  Placing& placing_;
  std::atomic<bool> settled_ = false;
};

// The agents' pods: where which agent is reached.
class AgentPodFeed : public Feed {
 public:
  using Found = std::function<void(const std::vector<AgentAddress>& agents)>;

  // `found` is called with all that are known, from when the list is complete, with each change.
  AgentPodFeed(int port, Found found, agent::Log& log)
      : Feed("agents", log), port_(port), found_(std::move(found)) {}

  void on_object(kube::Change change, const nlohmann::json& object) override;
  void on_synced(std::uint64_t generation) override;

 private:
  void tell() const;

  const int port_;
  const Found found_;
  std::map<std::string, AgentAddress> by_uid_;
};

// What the agents' streams say.
class AgentFeed : public AgentSink {
 public:
  AgentFeed(Placing& placing, agent::Log& log) : placing_(placing), log_(log) {}

  void reported(const std::string& node, NodeReport report) override;
  bool measured(const std::string& node, MissRates rates) override;
  bool heard(const std::string& node) override;
  void trouble(const std::string& node, const Error& error,
               std::chrono::milliseconds pause) override;
  // Promises that a report left no room for.
  [[nodiscard]] std::uint64_t lost_promises() const { return lost_; }
  [[nodiscard]] std::uint64_t troubles() const { return troubles_; }

 private:
  Placing& placing_;
  agent::Log& log_;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<std::uint64_t> troubles_ = 0;
};

}  // namespace pinion::cluster
