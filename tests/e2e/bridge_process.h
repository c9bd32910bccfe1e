// pinion-slurm as a process between a cluster and a Slurm.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/slurm_lab.h"

namespace pinion::e2e {

class BridgeProcess {
 public:
  BridgeProcess() = default;

  // Waits until it has heard from both. `more`: further flags. Errors: kUnavailable with its log's
  // end.
  static Result<BridgeProcess> start(Cluster& cluster, const SlurmLab& slurm,
                                     const std::vector<std::string>& more = {});

  void kill() { process_.kill(); }  // SIGKILL
  Result<int> stop();               // SIGTERM; its status
  Status restart();

 private:
  std::vector<std::string> argv_;
  std::string ready_file_;
  std::string log_;
  lab::Process process_;
};

}  // namespace pinion::e2e
