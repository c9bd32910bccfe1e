// A stream from every agent: what is on its node, as it changes. Thousands in one process, on a few
// threads; one that ends is begun again.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/client/tls.h"
#include "base/error.h"
#include "cluster/extender/agents/agent_sink.h"

namespace pinion::cluster {

struct AgentAddress {
  std::string node;              // as Kubernetes calls it
  std::string address;           // "HOST:PORT" or "unix:PATH"
  std::string server_name = {};  // in the agent's certificate; empty: HOST

  auto operator<=>(const AgentAddress&) const = default;
};

struct AgentOptions {
  agent::api::TlsFiles tls;                      // for TCP
  std::chrono::milliseconds tls_reload{10'000};  // older ones are read anew, for new streams
  std::chrono::milliseconds silence{15'000};     // agents say something every 5 s: then it is dead
  std::chrono::milliseconds rates{10'000};       // between two messages that bring only rates
  // Between two tries. An agent that is back is heard within a second however long it was away, so
  // the pause does not grow further; what all tries together may cost is limited in agents.cpp.
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{500};
  std::uint64_t seed = 0;  // of the jitter; 0: from the system
};

class Agents {
 public:
  // `sink` must outlive it.
  Agents(AgentSink& sink, AgentOptions options);
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;
  ~Agents();

  // From now on these, one for each node: those that are new are tried before all others, without a
  // pause. Nothing comes to the sink from others any more, but that they are lost. Errors: kInvalid
  // for an address that is none, naming it; then nothing is changed.
  Status follow(const std::vector<AgentAddress>& agents);
  // Streams that are up.
  [[nodiscard]] std::size_t connected() const;
  // Tries that ended, whether the stream was ever up or not.
  [[nodiscard]] std::uint64_t failures() const;
  // Ends all; nothing of the sink is called after it.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pinion::cluster
