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

class FakeAgent {
 public:
  using Unit = test_support::Unit;

  // Serves at a unix socket in `folder`. One thread at a time may call what follows.
  static Result<std::unique_ptr<FakeAgent>> start(const std::string& node,
                                                  std::shared_ptr<const topology::Topology> machine,
                                                  const engine::Settings& settings,
                                                  const std::string& folder);

  // Creates and starts the container as a runtime does. The text of a refusal; none: it runs.
  std::optional<std::string> run(const Unit& unit);
  void stop(const Unit& unit);

  // All streams end, and new ones are refused, until serve().
  void cut();
  Status serve();

  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::string address() const { return "unix:" + socket_; }
  [[nodiscard]] const topology::Topology& machine() const { return *machine_; }
  [[nodiscard]] const engine::State& state() const { return driver_.engine.state(); }

 private:
  FakeAgent(std::string node, std::shared_ptr<const topology::Topology> machine,
            const engine::Settings& settings, const std::string& folder);

  void publish();

  const std::string node_;
  const std::string socket_;
  const std::string instance_;
  std::shared_ptr<const topology::Topology> machine_;
  test_support::Driver driver_;
  std::uint64_t generation_ = 0;
  agent::Published<agent::NodeView> views_;
  agent::Published<metrics::Sample> samples_;
  std::unique_ptr<agent::api::ApiServer> server_;
};

}  // namespace pinion::e2e
