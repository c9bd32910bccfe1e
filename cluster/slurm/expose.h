// What pinion-slurm tells Prometheus, from values; docs/metrics.md lists the series.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metrics/prometheus/histogram.h"
#include "metrics/prometheus/writer.h"

namespace pinion::slurm {

struct Figures {
  struct Jobs {  // of ours, now
    std::uint64_t waiting = 0;
    std::uint64_t placed = 0;  // let go on their nodes, and not started yet
    std::uint64_t running = 0;
  };
  struct Placeholders {  // now
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    std::uint64_t lost = 0;
  };
  struct Tries {
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
  };
  Jobs jobs;
  Placeholders placeholders;
  std::uint64_t nodes_serving = 0;  // of Slurm, now
  std::uint64_t nodes_out = 0;
  // Seconds from a job's submission, or the begin that it asks for, until it is let go.
  prometheus::Histogram release{prometheus::Histogram::kWaits};
  std::map<std::string, Tries> actions;  // by what is done
  std::uint64_t given_back = 0;          // jobs whose nodes Slurm refused
  std::uint64_t slurm_silent = 0;        // rounds in which Slurm did not tell
  bool ready = false;
  std::string version;
};

[[nodiscard]] std::string expose(const Figures& figures, prometheus::Format format);

// Every series that expose() may write.
[[nodiscard]] const std::vector<prometheus::Series>& slurm_series();

}  // namespace pinion::slurm
