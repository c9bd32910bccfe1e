// The containers that a scrape shows: those of the view and those of the sample, each once.
#pragma once

#include <map>
#include <string>

#include "agent/view.h"
#include "metrics/figures.h"
#include "metrics/prometheus/writer.h"

namespace pinion::agent {

// One of the two is there, mostly both. Not owned.
struct Shown {
  const metrics::ContainerFigures* figures = nullptr;
  const ContainerView* view = nullptr;
  prometheus::Labels labels;  // namespace, pod, container
};

// By the text of the labels: two containers that Prometheus could not tell apart are one here. Of
// several containers of one name (a static pod that is replaced, a container that restarts) the
// view shows the one that has cores, then the one that runs, then the last by id.
using ShownContainers = std::map<std::string, Shown>;

[[nodiscard]] ShownContainers shown_containers(const NodeView& view, const metrics::Sample& sample);

}  // namespace pinion::agent
