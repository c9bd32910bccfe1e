#include "cluster/core/colocation.h"

namespace pinion::cluster {

void Occupants::count(bool service, const std::string& job, int by) {
  if (service) {
    services += by;
  } else if ((jobs[job] += by) == 0) {
    jobs.erase(job);
  }
}

Unwelcome unwelcome(const ColocationRules& rules, bool service, std::string_view job,
                    const Occupants& occupants) {
  if (service) {
    return rules.services_beside || occupants.jobs.empty() ? Unwelcome::kNo : Unwelcome::kJobs;
  }
  if (!rules.services_beside && occupants.services > 0) return Unwelcome::kServices;
  const bool alone = occupants.jobs.empty() ||
                     (occupants.jobs.size() == 1 && occupants.jobs.begin()->first == job);
  return rules.jobs_share || alone ? Unwelcome::kNo : Unwelcome::kOtherJob;
}

std::string_view to_string(Unwelcome why) {
  switch (why) {
    case Unwelcome::kOtherJob:
      return "another HPC job is on the node, and such jobs do not share nodes (jobsShareNodes)";
    case Unwelcome::kJobs:
      return "an HPC job is on the node, and services go to others (servicesBesideJobs)";
    case Unwelcome::kServices:
      return "services are on the node, and HPC jobs go to others (servicesBesideJobs)";
    case Unwelcome::kNo:
      break;
  }
  return {};
}

}  // namespace pinion::cluster
