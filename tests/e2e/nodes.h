// The nodes of a test, which run what is bound to them: FakeNodes or AgentNodes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "topology/cpuset.h"

namespace pinion::e2e {

// An agent would not take what was sent to its node.
struct Bounced {
  std::string node;
  std::string pod;
  std::string container;
  std::string text;
};

class Nodes {
 public:
  Nodes() = default;
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  virtual ~Nodes() = default;

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
  virtual bool wait(const std::function<bool()>& condition) = 0;
  // All that was ever refused; and the same, for who has expected it.
  [[nodiscard]] virtual std::vector<Bounced> bounced() const = 0;
  virtual std::vector<Bounced> take_bounced() = 0;
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
};

}  // namespace pinion::e2e
