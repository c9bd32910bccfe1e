#include "ctl/source/source_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "ctl/source/recording.h"

namespace pinion::ctl {
namespace {

constexpr std::chrono::seconds kCallLimit{3};

Moment moment_of(v1::Snapshot snapshot) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Moment moment;
  moment.unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  moment.snapshot = std::move(snapshot);
  return moment;
}

// Connects anew after a failed call: an agent that was restarted is seen at once, not when the
// channel has waited out its pause.
class Agent final : public NodeSource {
 public:
  Agent(SourceOptions options, agent::api::Client client)
      : options_(std::move(options)), client_(std::move(client)) {}

  Result<std::optional<Moment>> next() override {
    if (!client_) {
      auto client = connect_agent(options_);
      if (!client) return failure(std::move(client.error()));
      client_.emplace(std::move(*client));
    }
    auto snapshot = client_->snapshot();
    if (!snapshot) {
      client_.reset();
      return failure(std::move(snapshot.error()));
    }
    return std::optional<Moment>(moment_of(std::move(*snapshot)));
  }
  [[nodiscard]] bool live() const override { return true; }

 private:
  SourceOptions options_;
  std::optional<agent::api::Client> client_;
};

}  // namespace

void add_agent_options(CLI::App& command, SourceOptions& options) {
  command
      .add_option("--agent", options.agent,
                  "The agent: unix:PATH, or HOST:PORT with the three TLS files")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command.add_option("--ca", options.ca, "Who must have signed the agent's certificate, PEM")
      ->type_name("FILE");
  command.add_option("--cert", options.cert, "Our certificate, PEM")->type_name("FILE");
  command.add_option("--key", options.key, "Its key, PEM")->type_name("FILE");
  command
      .add_option("--server-name", options.server_name,
                  "The name in the agent's certificate, where it is not HOST")
      ->type_name("NAME");
}

void add_source_options(CLI::App& command, SourceOptions& options) {
  add_agent_options(command, options);
  command.add_option("--from", options.from, "A recording instead of an agent")
      ->type_name("FILE")
      ->excludes("--agent");
}

Result<agent::api::Client> connect_agent(const SourceOptions& options) {
  agent::api::ClientOptions client;
  client.tls = {.certificate = options.cert, .key = options.key, .ca = options.ca};
  client.server_name = options.server_name;
  client.limit = kCallLimit;
  return agent::api::Client::connect(options.agent, client);
}

Result<std::unique_ptr<NodeSource>> open_source(const SourceOptions& options) {
  if (!options.from.empty()) {
    auto recording = Recording::open(options.from);
    if (!recording) return failure(std::move(recording.error()));
    return std::unique_ptr<NodeSource>(std::move(*recording));
  }
  auto client = connect_agent(options);
  if (!client) return failure(std::move(client.error()));
  return std::unique_ptr<NodeSource>(std::make_unique<Agent>(options, std::move(*client)));
}

}  // namespace pinion::ctl
