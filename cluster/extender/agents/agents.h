// A stream from every agent: what is on its node, as it changes. Thousands in one process, on
// gRPC's own few threads; one that ends is begun again after a pause that grows.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/api/tls.h"
#include "base/error.h"
#include "cluster/core/fleet.h"

namespace pinion::cluster {

struct AgentAddress {
  std::string node;     // as Kubernetes calls it
  std::string address;  // "HOST:PORT" or "unix:PATH"

  auto operator<=>(const AgentAddress&) const = default;
};

// Called on several threads at once, for one node one after another.
class AgentSink {
 public:
  AgentSink() = default;
  AgentSink(const AgentSink&) = delete;
  AgentSink& operator=(const AgentSink&) = delete;
  virtual ~AgentSink() = default;

  virtual void reported(const std::string& node, NodeReport report) = 0;
  // Only what containers measured has changed; L3 misses per second by claim id. False: the node is
  // not known any more, and is to be reported again.
  virtual bool measured(const std::string& node, MissRates rates) = 0;
  virtual bool heard(const std::string& node) = 0;  // nothing has changed there; the same
  // The stream ended, or what came makes no sense; it is tried again after `pause`.
  virtual void trouble(const std::string& node, const Error& error,
                       std::chrono::milliseconds pause) = 0;
};

struct AgentOptions {
  agent::api::TlsFiles tls;  // for TCP
  std::string server_name;   // in the agents' certificates, where it is not the address' host
  std::chrono::milliseconds silence{15'000};  // agents say something every 5 s: then it is dead
  std::chrono::milliseconds rates{10'000};    // between two messages that bring only rates
  std::chrono::milliseconds first_pause{500};
  std::chrono::milliseconds longest_pause{30'000};
  std::uint64_t seed = 0;  // of the jitter; 0: from the system
};

class Agents {
 public:
  // `sink` must outlive it.
  Agents(AgentSink& sink, AgentOptions options);
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;
  ~Agents();

  // From now on these, one for each node; streams of others end. Errors: kInvalid for an address
  // that is none, naming it; then nothing is changed.
  Status follow(const std::vector<AgentAddress>& agents);
  // Streams that have said something since they began.
  [[nodiscard]] std::size_t connected() const;
  // Ends all; nothing of the sink is called after it.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pinion::cluster
