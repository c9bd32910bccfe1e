// An elastic Job as the API server has stored it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace pinion::test_support {

struct JobShape {
  std::string name = "wave";
  std::string change = "malleable";
  int cpus = 4;  // of a worker
  int workers = 4;
  bool suspended = false;
  std::map<std::string, std::string> annotations = {{"pinion.dev/min-workers", "2"},
                                                    {"pinion.dev/max-workers", "8"}};
  std::string created = "2026-11-24T15:00:00Z";
};

inline nlohmann::json make_job(const JobShape& shape = {}) {
  const nlohmann::json resources = {{"cpu", std::to_string(shape.cpus)}, {"memory", "64Mi"}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", shape.name},
            {"namespace", "default"},
            {"uid", "uid-" + shape.name},
            {"resourceVersion", "7"},
            {"creationTimestamp", shape.created},
            {"labels", {{"pinion.dev/elastic", shape.change}}},
            {"annotations", shape.annotations}}},
          {"spec",
           {{"completionMode", "Indexed"},
            {"suspend", shape.suspended},
            {"parallelism", shape.workers},
            {"completions", shape.workers},
            {"template",
             {{"spec",
               {{"containers",
                 {{{"name", "main"},
                   {"image", "i"},
                   {"resources", {{"requests", resources}, {"limits", resources}}}}}}}}}}}},
          {"status", nlohmann::json::object()}};
}

}  // namespace pinion::test_support
