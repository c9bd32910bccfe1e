// Reads a node for the checks.
#pragma once

#include <string>

#include "ctl/doctor/facts.h"
#include "ctl/source/source_options.h"

namespace pinion::ctl::doctor {

struct ReadOptions {
  std::string root;  // where the node's / is; empty: this machine's
  SourceOptions agent;
  bool agent_named = false;       // else its address and certificates are taken from its settings
  std::string kubelet_config;     // empty: as its flags say, or /var/lib/kubelet/config.yaml
  std::string containerd_config;  // empty: /etc/containerd/config.toml
};

// All but the clock and the time. Nothing of it fails as a whole: what could not be read is part of
// the facts.
NodeFacts read_node(const ReadOptions& options);

// Whether the kernel's clock is kept right by somebody; nothing where it does not say.
ClockFacts read_clock();

}  // namespace pinion::ctl::doctor
