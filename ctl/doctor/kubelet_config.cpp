#include "ctl/doctor/kubelet_config.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "ctl/doctor/processes.h"

namespace pinion::ctl::doctor {
namespace {

Status set_cpus(const std::string& key, const std::string& text, KubeletSettings& settings) {
  auto cpus = topology::CpuSet::parse(text);
  if (!cpus) return failure(std::move(cpus.error()).within(key));
  if (cpus->empty()) {
    settings.reserved_cpus.reset();  // as if it were not stated
  } else {
    settings.reserved_cpus = *std::move(cpus);
  }
  return {};
}

void set_text(const YAML::Node& map, const char* key, std::string& value) {
  const YAML::Node node = map[key];
  if (node.IsDefined() && node.IsScalar()) value = node.Scalar();
}

// CPU of systemReserved and kubeReserved.
Result<std::int64_t> reserved_milli(const YAML::Node& map) {
  std::int64_t sum = 0;
  for (const char* key : {"systemReserved", "kubeReserved"}) {
    const YAML::Node node = map[key];
    if (!node.IsDefined() || !node.IsMap() || !node["cpu"].IsDefined() || !node["cpu"].IsScalar()) {
      continue;
    }
    const auto milli = milli_quantity(node["cpu"].Scalar());
    if (!milli) return failure(milli.error().within(key));
    if (__builtin_add_overflow(sum, *milli, &sum)) {
      return failure(Errc::kInvalid, std::string(key) + ": too much CPU");
    }
  }
  return sum;
}

Status apply_map(const YAML::Node& map, KubeletSettings& settings) {
  if (map.IsNull()) return {};  // an empty file states nothing
  if (!map.IsMap()) return failure(Errc::kInvalid, "not a map");
  set_text(map, "cpuManagerPolicy", settings.cpu_manager_policy);
  set_text(map, "memoryManagerPolicy", settings.memory_manager_policy);
  set_text(map, "cgroupDriver", settings.cgroup_driver);
  std::string cpus;
  set_text(map, "reservedSystemCPUs", cpus);
  if (!cpus.empty()) {
    if (Status set = set_cpus("reservedSystemCPUs", cpus, settings); !set) return set;
  }
  const auto milli = reserved_milli(map);
  if (!milli) return failure(milli.error());
  if (*milli > 0) settings.reserved_milli = *milli;
  return {};
}

}  // namespace

Status apply_kubelet_config(const std::string& text, KubeletSettings& settings) {
  try {
    return apply_map(YAML::Load(text), settings);
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid, error.what());
  }
}

Status apply_kubelet_flags(const std::vector<std::string>& arguments, KubeletSettings& settings) {
  if (const auto value = flag_value(arguments, "cpu-manager-policy")) {
    settings.cpu_manager_policy = *value;
  }
  if (const auto value = flag_value(arguments, "memory-manager-policy")) {
    settings.memory_manager_policy = *value;
  }
  if (const auto value = flag_value(arguments, "cgroup-driver")) settings.cgroup_driver = *value;
  if (const auto value = flag_value(arguments, "reserved-cpus")) {
    return set_cpus("--reserved-cpus", *value, settings);
  }
  return {};
}

Result<std::string> policy_of_state(const std::string& text) {
  const auto state = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!state.is_object() || !state.contains("policyName") || !state["policyName"].is_string()) {
    return failure(Errc::kInvalid, "no JSON with a policyName");
  }
  return state["policyName"].get<std::string>();
}

}  // namespace pinion::ctl::doctor
