// All that the extender tells Prometheus, from values; docs/kubernetes.md lists the series.
#pragma once

#include <cstdint>
#include <map>
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

// Of services with a target.
struct ServiceFigures {
  struct Row {
    std::string name_space;
    std::string pod;
    double performance = 0;  // 1: on the target
    double cpus = 0;         // that it may use
  };
  std::uint64_t services = 0;
  std::uint64_t refused = 0;                   // of them, what their owner wrote makes no sense
  std::map<std::string, std::uint64_t> looks;  // by what was decided
  std::uint64_t resized = 0;
  std::uint64_t not_resized = 0;  // the API server did not take it
  std::vector<Row> rows;          // those whose metric is known
};

// Of elastic jobs.
struct ElasticFigures {
  struct Row {
    std::string name_space;
    std::string kind;
    std::string name;
    int running = 0;  // workers that are ready
    int wanted = 0;   // that it is to have; 0: it waits
  };
  struct Rescales {
    std::uint64_t count = 0;
    double seconds = 0;  // that they took
  };
  std::map<std::string, std::uint64_t> steps;  // by what they were
  std::map<std::string, Rescales> rescales;    // that have ended: "start", "shrink", "expand"
  std::map<std::string, std::uint64_t> jobs;   // by state, and those that are "refused"
  std::vector<Row> rows;
};

struct ExtenderFigures {
  SchedulingFigures scheduler;
  PlacingFigures placing;
  ServerFigures server;
  std::uint64_t agents_connected = 0;
  std::uint64_t agent_failures = 0;
  std::uint64_t promises_lost = 0;
  std::uint64_t api_failures = 0;  // of waking, nominating, opening and explaining
  std::uint64_t evicted = 0;       // pods that their agent refused
  ElasticFigures elastic;
  ServiceFigures services;
  bool leading = false;
  bool ready = false;
  std::string version;
};

[[nodiscard]] std::string expose(const ExtenderFigures& figures, prometheus::Format format);

// Every series that expose() may write.
[[nodiscard]] const std::vector<prometheus::Series>& extender_series();

}  // namespace pinion::cluster
