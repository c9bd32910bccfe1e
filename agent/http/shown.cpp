#include "agent/http/shown.h"

#include <tuple>

namespace pinion::agent {
namespace {

Shown& entry(ShownContainers& all, const std::string& name_space, const std::string& pod,
             const std::string& container) {
  prometheus::Labels labels{{"namespace", name_space}, {"pod", pod}, {"container", container}};
  Shown& shown = all[labels.text()];
  if (shown.labels.text().empty()) shown.labels = std::move(labels);
  return shown;
}

bool rather(const ContainerView& a, const ContainerView& b) {
  return std::tie(a.exclusive, a.started, a.id) > std::tie(b.exclusive, b.started, b.id);
}

}  // namespace

ShownContainers shown_containers(const NodeView& view, const metrics::Sample& sample) {
  ShownContainers all;
  for (const ContainerView& container : view.containers) {
    Shown& shown = entry(all, container.name_space, container.pod, container.name);
    if (shown.view == nullptr || rather(container, *shown.view)) shown.view = &container;
  }
  for (const metrics::ContainerFigures& figures : sample.containers) {
    if (figures.who == nullptr) continue;
    Shown& shown = entry(all, figures.who->name_space, figures.who->pod, figures.who->container);
    if (shown.figures == nullptr) shown.figures = &figures;
  }
  return all;
}

}  // namespace pinion::agent
