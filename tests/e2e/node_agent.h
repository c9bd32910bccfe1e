// pinion-agent as the real program, on a machine that is imagined: it is told a topology, and sees
// nothing of this machine.
#pragma once

#include <string>

#include "base/error.h"
#include "tests/lab/agent_api.h"
#include "tests/lab/files.h"
#include "tests/lab/process.h"

namespace pinion::e2e {

class NodeAgent {
 public:
  // `folder` is its own, and is made; `topology` as --topology takes it.
  NodeAgent(std::string folder, std::string log, std::string topology)
      : folder_(std::move(folder)), log_(std::move(log)), topology_(std::move(topology)) {}

  // Where its runtime is to have NRI: no other agent's may be in the same folder.
  [[nodiscard]] std::string nri_socket() const { return folder_ + "/nri/nri.sock"; }
  [[nodiscard]] std::string api_socket() const { return folder_ + "/state/agent.sock"; }

  Status start();       // does not wait
  void kill();          // SIGKILL
  Status wait_ready();  // as soon as its runtime has told it all containers
  [[nodiscard]] std::string log_tail(int lines) const { return lab::tail_of(log_, lines); }
  [[nodiscard]] Result<lab::AgentStatus> status() const {
    return lab::AgentApi(api_socket()).status();
  }

 private:
  std::string folder_;
  std::string log_;
  std::string topology_;
  lab::Process process_;
};

}  // namespace pinion::e2e
