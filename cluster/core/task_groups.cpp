#include "cluster/core/task_groups.h"

#include <algorithm>
#include <numeric>

namespace pinion::cluster {

std::vector<TaskGroup> build_groups(const std::vector<int>& cpus, int groups) {
  std::vector<TaskGroup> result(static_cast<std::size_t>(groups));
  for (std::size_t worker = 0; worker < cpus.size(); ++worker) {
    const auto lightest =
        std::min_element(result.begin(), result.end(),
                         [](const TaskGroup& a, const TaskGroup& b) { return a.cpus < b.cpus; });
    lightest->members.push_back(worker);
    lightest->cpus += cpus[worker];
  }
  return result;
}

std::vector<std::size_t> placing_order(const std::vector<TaskGroup>& groups) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].cpus > groups[b].cpus; });
  return order;
}

}  // namespace pinion::cluster
