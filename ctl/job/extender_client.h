// Asks a running extender: what it would make of a job, and which jobs it knows.
#pragma once

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cluster/extender/jobs/job_plan.h"

namespace pinion::ctl {

struct ExtenderOptions {
  std::string url;  // "https://HOST:PORT", with a path in front of /v1 where a proxy wants one
  std::string ca;   // PEM file: who must have signed its certificate; empty: the system's
  std::string certificate;  // ours, PEM file; empty: none is shown
  std::string key;          // of it
};

// --extender, which is returned, and --ca, --cert and --key, which need it.
CLI::Option* add_extender_options(CLI::App& command, ExtenderOptions& options);

// Connects, asks once and ends. Errors: kInvalid for the options and for a job that the extender
// cannot read, kUnavailable (nobody there, no whole answer in 30 s, one above 64 MiB, or the
// extender says that it cannot now), all with its words.
Result<cluster::jobs::JobPlan> plan_at_extender(const ExtenderOptions& options,
                                                const nlohmann::json& job);

// Its /v1/jobs, of one namespace or of all (empty): a JSON object with the lists "elastic" and
// "profiles" of objects that have a "name". Errors: as above.
Result<nlohmann::json> jobs_at_extender(const ExtenderOptions& options,
                                        const std::string& name_space);

}  // namespace pinion::ctl
