// Hostfiles: a ConfigMap of the job, mounted where mpirun may run. Made for the kinds that have
// none with slots; for an MPIJob, whose operator writes one with equal slots, where the split is
// uneven.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cluster/extender/jobs/decision.h"
#include "cluster/extender/jobs/job_object.h"

namespace pinion::cluster::jobs {

// Files in kHostfileFolder, keys of the ConfigMap: Open MPI's "HOST slots=N", and "HOST:N" of
// MPICH's and Intel's Hydra.
inline constexpr const char* kHostfileKey = "hostfile";
inline constexpr const char* kMachinefileKey = "machinefile";

// "JOB-pinion".
[[nodiscard]] std::string hostfile_name(const JobObject& job);

// Whether a ConfigMap is to be made for the job, which has its workers already.
[[nodiscard]] bool needs_hostfile(const nlohmann::json& object, const JobObject& job,
                                  const JobWish& wish, const Decision& decision);

// The ConfigMap of a job as the API server has stored it: with its uid, so that it goes with the
// job. Its slots follow Algorithm 2 and the number of workers that the job has now. Nothing for a
// job that asks for none. Errors: kInvalid for one that was changed by hand so that there is none.
Result<std::optional<nlohmann::json>> hostfile_config_map(const nlohmann::json& object,
                                                          const CutJob& cut);

}  // namespace pinion::cluster::jobs
