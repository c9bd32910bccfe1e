// All that the extender tells Prometheus, from values; docs/kubernetes.md lists the series.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/extender/http/figures.h"
#include "cluster/extender/service/placing.h"
#include "metrics/prometheus/writer.h"

namespace pinion::cluster {

struct SchedulingFigures {
  std::uint64_t nodes = 0;
  std::uint64_t stale = 0;      // of them
  std::uint64_t free_cpus = 0;  // on those that are not stale
  std::uint64_t placed = 0;     // pods with whole CPUs that are bound, or about to be
  std::uint64_t waiting = 0;    // such pods that were refused
  std::uint64_t gated = 0;      // and that wait at Pinion's scheduling gate
  std::uint64_t gangs = 0;
  std::uint64_t promises = 0;
  GangCounters plans;
};
[[nodiscard]] SchedulingFigures scheduling_figures(const PodScheduler& scheduler);

struct ExtenderFigures {
  SchedulingFigures scheduler;
  PlacingFigures placing;
  ServerFigures server;
  std::uint64_t agents_connected = 0;
  std::uint64_t agent_failures = 0;
  std::uint64_t promises_lost = 0;
  std::uint64_t api_failures = 0;  // of waking, nominating, opening and explaining
  std::uint64_t evicted = 0;       // pods that their agent refused
  std::map<std::string, std::uint64_t> elastic_steps;  // of elastic jobs, by what they were
  bool leading = false;
  bool ready = false;
  std::string version;
};

[[nodiscard]] std::string expose(const ExtenderFigures& figures, prometheus::Format format);

// Every series that expose() may write.
[[nodiscard]] const std::vector<prometheus::Series>& extender_series();

}  // namespace pinion::cluster
