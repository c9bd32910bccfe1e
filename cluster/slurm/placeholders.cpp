#include "cluster/slurm/placeholders.h"

#include <algorithm>

namespace pinion::slurm {

bool fits_no_node(const Pods& pods) {
  return std::any_of(pods.begin(), pods.end(), [](const Placeholder* pod) { return pod->never; });
}

const Placeholder* misplaced(const Pods& pods, const Choice& choice) {
  const auto found = std::find_if(pods.begin(), pods.end(), [&](const Placeholder* pod) {
    return !pod->node.empty() && !choice.has(pod->node);
  });
  return found == pods.end() ? nullptr : *found;
}

std::string why_misplaced(const Placeholder& pod, const Choice& choice) {
  std::string why = "Slurm cannot start it on " + pod.node;
  if (!choice.others.empty()) why.append(": ").append(choice.others);
  return why;
}

bool outdated(const Pods& pods, const std::string& list) {
  const bool bound = std::any_of(pods.begin(), pods.end(),
                                 [](const Placeholder* pod) { return !pod->node.empty(); });
  return !bound && std::any_of(pods.begin(), pods.end(), [&](const Placeholder* pod) {
    return !pod->list.empty() && pod->list != list;
  });
}

bool spoilt(const Pods& pods, const Shape& shape) {
  std::set<std::string> nodes;
  for (const Placeholder* pod : pods) {
    if (pod->phase == Placeholder::Phase::kLost || pod->size != shape.nodes ||
        pod->cpus != shape.cpus || pod->index < 0 || pod->index >= shape.nodes) {
      return true;
    }
    if (!pod->node.empty() && !nodes.insert(pod->node).second) return true;
  }
  return static_cast<int>(pods.size()) > shape.nodes;
}

bool all_run(const Pods& pods) {
  return std::all_of(pods.begin(), pods.end(), [](const Placeholder* pod) {
    return pod->phase == Placeholder::Phase::kRunning && !pod->node.empty();
  });
}

std::set<std::string> nodes_of(const Pods& pods) {
  std::set<std::string> nodes;
  for (const Placeholder* pod : pods) nodes.insert(pod->node);
  return nodes;
}

}  // namespace pinion::slurm
