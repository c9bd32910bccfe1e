#include "metrics/perf/cpu_model.h"

#include <charconv>
#include <optional>

namespace pinion::metrics::perf {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// A small number in decimal; -1 for anything else.
int number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 && value <= 0xffff ? value : -1;
}

Vendor vendor_named(std::string_view id) {
  if (id == "GenuineIntel") return Vendor::kIntel;
  // Hygon's Dhyana is Zen 1 under another name; its family is 0x18.
  if (id == "AuthenticAMD" || id == "HygonGenuine") return Vendor::kAmd;
  return Vendor::kOther;
}

void take(CpuModel& cpu, std::string_view key, std::string_view value) {
  if (key == "vendor_id") cpu.vendor = vendor_named(value);
  if (key == "CPU implementer") cpu.vendor = Vendor::kArm;
  if (key == "cpu family") cpu.family = number(value);
  if (key == "model") cpu.model = number(value);
  if (key == "model name") cpu.name = std::string(value.substr(0, 128));
}

}  // namespace

CpuModel parse_cpu_model(std::string_view cpuinfo) {
  CpuModel cpu;
  bool inside = false;
  while (!cpuinfo.empty()) {
    const std::size_t end = cpuinfo.find('\n');
    const std::string_view line = cpuinfo.substr(0, end);
    cpuinfo.remove_prefix(end == std::string_view::npos ? cpuinfo.size() : end + 1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (inside && trim(line).empty()) break;  // a blank line ends the first processor
      continue;
    }
    inside = true;
    take(cpu, trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return cpu;
}

namespace {

struct Models {
  Core core;
  int family;
  int first;  // models first..last
  int last;
};

// AMD: the ranges by which the kernel tells the Zen generations apart (arch/x86/kernel/cpu/amd.c).
// Intel: arch/x86/include/asm/intel-family.h, also tools/perf/pmu-events/arch/x86/mapfile.csv.
constexpr Models kAmdModels[] = {
    {Core::kZen1, 0x17, 0x00, 0x2f}, {Core::kZen1, 0x17, 0x50, 0x5f},
    {Core::kZen1, 0x18, 0x00, 0xff},  // Hygon Dhyana
    {Core::kZen2, 0x17, 0x30, 0x4f}, {Core::kZen2, 0x17, 0x60, 0x7f},
    {Core::kZen2, 0x17, 0x90, 0x91}, {Core::kZen2, 0x17, 0xa0, 0xaf},
    {Core::kZen3, 0x19, 0x00, 0x0f}, {Core::kZen3, 0x19, 0x20, 0x5f},
    {Core::kZen4, 0x19, 0x10, 0x1f}, {Core::kZen4, 0x19, 0x60, 0xaf},
    {Core::kZen5, 0x1a, 0x00, 0x2f}, {Core::kZen5, 0x1a, 0x40, 0x4f},
    {Core::kZen5, 0x1a, 0x60, 0x7f},
};
constexpr Models kIntelModels[] = {
    {Core::kSkylakeServer, 6, 0x55, 0x55},   // INTEL_SKYLAKE_X; steppings tell SKX, CLX, CPX apart
    {Core::kIceLakeServer, 6, 0x6a, 0x6a},   // INTEL_ICELAKE_X
    {Core::kIceLakeServer, 6, 0x6c, 0x6c},   // INTEL_ICELAKE_D
    {Core::kSapphireRapids, 6, 0x8f, 0x8f},  // INTEL_SAPPHIRERAPIDS_X
    {Core::kSapphireRapids, 6, 0xcf, 0xcf},  // INTEL_EMERALDRAPIDS_X
    {Core::kGraniteRapids, 6, 0xad, 0xad},   // INTEL_GRANITERAPIDS_X
    {Core::kGraniteRapids, 6, 0xae, 0xae},   // INTEL_GRANITERAPIDS_D
};

template <std::size_t N>
std::optional<Core> find(const Models (&table)[N], const CpuModel& cpu) {
  for (const Models& row : table) {
    if (cpu.family == row.family && cpu.model >= row.first && cpu.model <= row.last) {
      return row.core;
    }
  }
  return std::nullopt;
}

}  // namespace

Core core_of(const CpuModel& cpu) {
  switch (cpu.vendor) {
    case Vendor::kAmd:
      return find(kAmdModels, cpu).value_or(Core::kOtherAmd);
    case Vendor::kIntel:
      return find(kIntelModels, cpu).value_or(Core::kOtherIntel);
    case Vendor::kArm:
      return Core::kArm;
    case Vendor::kOther:
      break;
  }
  return Core::kUnknown;
}

std::string_view to_string(Core core) {
  switch (core) {
    case Core::kZen1:
      return "Zen 1";
    case Core::kZen2:
      return "Zen 2";
    case Core::kZen3:
      return "Zen 3";
    case Core::kZen4:
      return "Zen 4";
    case Core::kZen5:
      return "Zen 5";
    case Core::kSkylakeServer:
      return "Skylake-SP or Cascade Lake";
    case Core::kIceLakeServer:
      return "Ice Lake-SP";
    case Core::kSapphireRapids:
      return "Sapphire or Emerald Rapids";
    case Core::kGraniteRapids:
      return "Granite Rapids";
    case Core::kOtherIntel:
      return "another Intel CPU";
    case Core::kOtherAmd:
      return "another AMD CPU";
    case Core::kArm:
      return "Arm";
    case Core::kUnknown:
      break;
  }
  return "unknown CPU";
}

}  // namespace pinion::metrics::perf
