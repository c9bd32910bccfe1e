// The options of every subcommand that looks at an agent: --agent with its TLS files, and --from.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "agent/client/client.h"
#include "base/usual_paths.h"
#include "ctl/source/node_source.h"

namespace pinion::ctl {

struct SourceOptions {
  std::string agent = std::string("unix:") + kUsualStateDir + "/agent.sock";
  std::string ca;
  std::string cert;
  std::string key;
  std::string server_name;
  std::string from;  // a recording instead
};

void add_agent_options(CLI::App& command, SourceOptions& options);
// The same and --from, which excludes them.
void add_source_options(CLI::App& command, SourceOptions& options);

// Errors: those of Client::connect.
Result<agent::api::Client> connect_agent(const SourceOptions& options);

// Errors: those of connect_agent() or Recording::open().
Result<std::unique_ptr<NodeSource>> open_source(const SourceOptions& options);

}  // namespace pinion::ctl
