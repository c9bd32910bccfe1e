// What the kinds of jobs differ in. Private to the folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/extender/jobs/fields.h"
#include "cluster/extender/jobs/job_object.h"

namespace pinion::cluster::jobs {

// Each fills in what is its own; name and namespace are there already.
Status read_mpi_job(const json& object, JobObject& job);
Status read_volcano_job(const json& object, const JobRequest& request, JobObject& job);
Status read_job_set(const json& object, const JobRequest& request, JobObject& job);
Status read_indexed_job(const json& object, JobObject& job);
Status read_pod(const json& object, JobObject& job);

Status write_mpi_job(json& object, const JobObject& job, int workers, int slots);
Status write_volcano_job(json& object, const JobObject& job, int workers);
Status write_job_set(json& object, const JobObject& job, int workers);
Status write_indexed_job(json& object, int workers);

HostName mpi_job_host(const JobObject& job);
std::optional<HostName> volcano_host(const json& object, const JobObject& job);
std::optional<HostName> indexed_job_host(const json& object, const JobObject& job);
std::vector<std::string> mpi_job_hosts(const JobObject& job, int workers);
std::vector<std::string> job_set_hosts(const json& object, const JobObject& job, int workers);

// Which of several named lists of pods works: the one that the user has named, else the only one,
// else the one called like a worker. Errors: kInvalid when none of this tells.
Result<std::size_t> find_workers(const std::vector<std::string>& names, const std::string& wanted,
                                 const Pointer& at);

// parallelism and completions of a batch Job's spec, which are one number for a gang; nothing when
// neither is stated.
Result<std::optional<int>> completions_at(const json& object, const Pointer& spec);

}  // namespace pinion::cluster::jobs
