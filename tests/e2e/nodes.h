// The nodes of a test, which run what is bound to them: FakeNodes or AgentNodes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/extender/kube/watch.h"
#include "tests/e2e/admin.h"
#include "topology/cpuset.h"

namespace pinion::e2e {

// An agent would not take what was sent to its node.
struct Bounced {
  std::string node;
  std::string pod;
  std::string container;
  std::string text;
};

class Nodes : protected kube::WatchHandler {
 public:
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  ~Nodes() override = default;

  // Where each agent serves, by node; and the same as a file for --agents of pinion-extender.
  [[nodiscard]] virtual std::map<std::string, std::string> addresses() const = 0;
  [[nodiscard]] std::string agents_file() const {
    std::string text = "agents:\n";
    for (const auto& [node, address] : addresses()) {
      text += "  - {node: \"" + node + "\", address: \"" + address + "\"}\n";
    }
    return text;
  }

  // As soon as the condition holds; false when it does not within a long time. The condition may
  // look at everything below but rooms().
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
  [[nodiscard]] virtual std::map<std::string, Held> held() const = 0;
  // By what each node's agent itself has on its list.
  struct Room {
    std::vector<int> free_cpus;  // of each NUMA node
    int containers = 0;          // with cores of their own

    bool operator==(const Room&) const = default;
  };
  [[nodiscard]] virtual std::map<std::string, Room> rooms() const = 0;
  [[nodiscard]] virtual std::size_t running() const = 0;  // pods, with cores or without

  // From now on the API server is told, too, that a pod runs and is ready.
  void tell_ready() { tells_ready_ = true; }

 protected:
  explicit Nodes(const kube::Access& access) : admin_(access) {}

  [[nodiscard]] bool tells_ready() const { return tells_ready_; }

  // From now on on_object() is told of the pods that are bound; and not any more, which whoever
  // derives from this has to say before it is gone.
  void watch_pods();
  void stop_watching();
  void on_synced(std::uint64_t generation) override;

  Admin admin_;
  mutable std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Bounced> bounced_;

 private:
  std::unique_ptr<kube::Watch> watch_;
  std::atomic<bool> tells_ready_ = false;
};

}  // namespace pinion::e2e
