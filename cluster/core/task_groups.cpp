#include "cluster/core/task_groups.h"

#include <algorithm>
#include <numeric>

namespace pinion::cluster {

void join_groups(const std::string& name, int groups, std::map<std::string, int> cpus,
                 Gang& workers) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(groups));
  for (int i = 0; i < groups; ++i) names.push_back(name + "-" + std::to_string(i));
  for (const auto& worker : workers) cpus[worker.task_group] += worker.all_cpus();
  for (auto& worker : workers) {
    if (!worker.task_group.empty()) continue;
    worker.task_group = *std::min_element(
        names.begin(), names.end(),
        [&](const std::string& a, const std::string& b) { return cpus[a] < cpus[b]; });
    for (auto& request : worker.beside) request.task_group = worker.task_group;
    cpus[worker.task_group] += worker.all_cpus();
  }
}

std::vector<std::size_t> placing_order(const std::vector<TaskGroup>& groups) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].cpus > groups[b].cpus; });
  return order;
}

}  // namespace pinion::cluster
