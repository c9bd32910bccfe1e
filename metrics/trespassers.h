// Which processes of the host may run on exclusive CPUs, and what keeps each of them off: texts for
// an operator.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "metrics/host_processes.h"

namespace pinion::metrics {

// Those that may run on some CPUs.
struct Trespassers {
  std::size_t processes = 0;
  // The first few services and containers, each with its first process and how many more it has:
  // "docker container 6f0e1a2b3c4d (nginx 812 and 3 more), ssh.service (sshd 640)".
  std::string units;
  std::string keep_off;  // the commands by which they run on other CPUs alone
};

// Who may run on `cpus`, and how they are put on `others` instead; those are to be found first
// where there are none.
[[nodiscard]] Trespassers trespassers(const std::vector<HostProcess>& processes,
                                      const topology::CpuSet& cpus, const topology::CpuSet& others);

}  // namespace pinion::metrics
