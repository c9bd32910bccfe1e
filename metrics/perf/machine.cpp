#include "metrics/perf/machine.h"

#include <filesystem>
#include <fstream>

namespace pinion::metrics::perf {
namespace {

// One processor's lines take about 2 KiB; the file has as many blocks as CPUs.
std::string read_head(const std::string& path) {
  std::string text(std::size_t{1} << 16U, '\0');
  std::ifstream file(path);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// The kernel's names for the PMU of the cores: "cpu" (x86), "cpu_core" and "cpu_atom" (hybrid x86),
// "armv8_..." (Arm), "cpum_cf" (s390).
bool is_core_pmu(const std::string& name) {
  return name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv") || name == "cpum_cf";
}

}  // namespace

PerfMachine read_perf_machine(const std::string& root) {
  PerfMachine machine;
  machine.cpu = parse_cpu_model(read_head(root + "/proc/cpuinfo"));
  std::error_code ignored;
  std::filesystem::directory_iterator it(root + "/sys/bus/event_source/devices", ignored);
  while (!ignored && it != std::filesystem::directory_iterator()) {
    if (is_core_pmu(it->path().filename().string())) machine.has_pmu = true;
    it.increment(ignored);
  }
  return machine;
}

}  // namespace pinion::metrics::perf
