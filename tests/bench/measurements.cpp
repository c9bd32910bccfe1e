#include "tests/bench/measurements.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace pinion::bench {

void Measurements::add(const std::string& name, std::map<std::string, double> figures) {
  all_.emplace_back(name, std::move(figures));
}

Status Measurements::write(const std::string& path) const {
  if (path.empty()) return {};
  nlohmann::json runs = nlohmann::json::array();
  for (const auto& [name, figures] : all_) {
    nlohmann::json run = figures;
    run["name"] = name;
    run["run_type"] = "iteration";
    runs.push_back(std::move(run));
  }
  std::ofstream file(path);
  file << nlohmann::json{{"benchmarks", std::move(runs)}} << "\n" << std::flush;
  if (!file) return sys_failure("write " + path);
  return {};
}

}  // namespace pinion::bench
