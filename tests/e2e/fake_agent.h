// An agent without a machine: the product's engine over an imagined topology, served by the
// product's own gRPC service. The test's process is its kernel and its runtime: every cgroup file
// is at once as the engine wants it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/server.h"
#include "agent/engine/engine.h"
#include "agent/published.h"
#include "base/error.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::e2e {

// Where it serves: "unix:PATH", or "ADDR:PORT" with TLS.
struct AgentPlace {
  std::string address;
  agent::api::TlsFiles tls = {};
};

class FakeAgent {
 public:
  using Unit = test_support::Unit;

  // One thread at a time may call what follows.
  static Result<std::unique_ptr<FakeAgent>> start(const std::string& node,
                                                  std::shared_ptr<const topology::Topology> machine,
                                                  const engine::Settings& settings,
                                                  AgentPlace place);

  // Creates and starts the container as a runtime does. The text of a refusal; none: it runs.
  std::optional<std::string> run(const Unit& unit);
  void stop(const Unit& unit);

  // All streams end, and new ones are refused, until serve(). What it has served at before is where
  // it serves again, unless it is told another place.
  void cut();
  Status serve();
  void move_to(AgentPlace place) { place_ = std::move(place); }

  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::string address() const { return place_.address; }
  [[nodiscard]] const topology::Topology& machine() const { return *machine_; }
  [[nodiscard]] const engine::State& state() const { return driver_.engine.state(); }

 private:
  FakeAgent(std::string node, std::shared_ptr<const topology::Topology> machine,
            const engine::Settings& settings, AgentPlace place);

  void publish();

  const std::string node_;
  AgentPlace place_;
  const std::string instance_;
  std::shared_ptr<const topology::Topology> machine_;
  test_support::Driver driver_;
  std::uint64_t generation_ = 0;
  agent::Published<agent::NodeView> views_;
  agent::Published<metrics::Sample> samples_;
  std::unique_ptr<agent::api::ApiServer> server_;
};

}  // namespace pinion::e2e
