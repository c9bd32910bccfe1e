// Pods that a job's controller makes. What differs from pod to pod cannot stand in a template.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace pinion::cluster::jobs {

// Its number among the workers, from 0, by its controller's labels; nothing for other pods. The
// parts of a JobSet are counted through.
[[nodiscard]] std::optional<int> worker_index(const nlohmann::json& pod);

// "JOB-GROUP": the task group of the worker at `index`, of workers that ask alike. Of a long JOB
// its beginning, so that all of the name stays (policy::kLongestName).
[[nodiscard]] std::string group_name(const std::string& job, int index, int groups);

// Names the task group of a worker, and sends mpirun in an MPIJob's launcher to our hostfile where
// there is one: the operator puts its own variables behind those of the template, where they win.
void edit_child_pod(nlohmann::json& pod);

}  // namespace pinion::cluster::jobs
