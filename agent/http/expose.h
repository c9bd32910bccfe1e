// All that the agent tells Prometheus, made from what it has published: a pure function, so a
// scrape waits for nobody. The series are listed in metrics/prometheus/series.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/noise/figures.h"
#include "agent/view.h"
#include "metrics/figures.h"
#include "metrics/prometheus/writer.h"

namespace pinion::agent {

// What /metrics itself costs.
struct ScrapeCost {
  std::uint64_t scrapes = 0;  // answered since the start
  double seconds = 0;         // of the last one, from the request read to the answer made
  std::uint64_t bytes = 0;    // of its text, not compressed
};

// What the agent's process costs; see process_figures.h.
struct ProcessFigures {
  double start_time_seconds = 0;  // Unix time
  double cpu_seconds = 0;
  std::optional<std::uint64_t> resident_bytes;
};

// One of the agent's listeners, and what has come to it.
struct ListenerFigures {
  std::string name;  // "api", "metrics", "probe"
  std::uint64_t open = 0;
  std::uint64_t accepted = 0;
  std::uint64_t closed_for_room = 0;
  std::uint64_t closed_as_slow = 0;
  std::uint64_t closed_as_garbage = 0;
  std::uint64_t shortages = 0;
};

// What stands neither in the view nor in the sample.
struct ExposeExtras {
  std::string version;  // of the agent; empty: left out
  ScrapeCost scrape;
  std::optional<ProcessFigures> process;
  std::vector<ListenerFigures> listeners;
  std::optional<noise::Figures> noise;  // only where kernel noise is kept off
};

// No two samples have the same name and labels, whatever the containers are called. What is not
// set in `sample`, or is not known yet, has no series.
[[nodiscard]] std::string expose(const NodeView& view, const metrics::Sample& sample,
                                 const ExposeExtras& extras, prometheus::Format format);

}  // namespace pinion::agent
