// What becomes of a job when it is created: how it is cut, and the patch that says so to its
// controller. Pure: nothing is remembered, so a dry run is the same as a real one.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cluster/extender/jobs/decision.h"

namespace pinion::cluster::jobs {

// A line of the table of what was decided.
struct Row {
  std::string what;
  std::string value;
  std::string why;

  bool operator==(const Row&) const = default;
};

// Of a job that was cut now.
struct Cut {
  JobObject job;
  JobRequest request;
  Decision decision;
  std::string hostfile;  // the ConfigMap's name; empty: none is made
  std::vector<Row> rows;
};

// The table for people.
[[nodiscard]] std::vector<Row> rows_of(const Cut& cut, const Options& options);

struct Mutation {
  enum class Kind {
    kUntouched,  // `text` says why
    kChanged,
    kRefused,  // `text` is for the user
  };
  Kind kind = Kind::kUntouched;
  std::string text;
  nlohmann::json patch = nlohmann::json::array();  // RFC 6902; not empty with kChanged alone
  std::vector<std::string> warnings;               // for the user, one sentence each
  std::optional<Cut> cut;                          // with kChanged, for a job
};

// An object that is being created. Jobs of the kinds of job_object.h with pinion.dev/tasks are cut;
// the pods of their controllers are told their task group, and an MPIJob's launcher its hostfile;
// everything else is left alone. `name_space`: as the request says. A job that leaves its name to
// the API server (generateName) is given one here, as its gang and its hosts are named after it:
// by `seed`, which is another one in each request.
[[nodiscard]] Mutation mutate(const nlohmann::json& object, const std::string& name_space,
                              const Options& options, const Choose& choose,
                              const std::string& seed = {});

}  // namespace pinion::cluster::jobs
