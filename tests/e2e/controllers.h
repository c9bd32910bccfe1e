// Stand-ins for the controllers of jobs that are not to be had here. They do with a job, as the API
// server has stored it, what the real ones were captured doing: the names, labels, owners and
// additions are from those captures, all else is from the job's own templates and counts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pinion::e2e {

// The object in a review that a real API server has sent (tests/unit/extender_jobs/data), for a job
// of this name in "default" and without what that server had filled in.
nlohmann::json captured(const std::string& body, const std::string& job);

// What is made of an MPIJob, a Volcano Job or a JobSet: pods, and batch Jobs whose pods the real
// Job controller makes. The launcher is the MPIJob's, Volcano's "mpimaster", the JobSet's "leader".
std::vector<nlohmann::json> launchers_of(const nlohmann::json& job);
std::vector<nlohmann::json> workers_of(const nlohmann::json& job);

}  // namespace pinion::e2e
