// Which CPU this is, as far as the choice of event codes depends on it.
#pragma once

#include <string>
#include <string_view>

namespace pinion::metrics::perf {

enum class Vendor { kIntel, kAmd, kArm, kOther };

// Numbers as the kernel writes them: `family` with the extended family added, `model` with the
// extended model in its upper four bits. -1 where the text does not say.
struct CpuModel {
  Vendor vendor = Vendor::kOther;
  int family = -1;
  int model = -1;
  std::string name;  // "model name"; may be empty (Arm)

  bool operator==(const CpuModel&) const = default;
};

// The first processor of a /proc/cpuinfo text. HygonGenuine counts as AMD. Any text is accepted:
// what cannot be read is kOther, -1 or empty, and then only generic events are counted.
CpuModel parse_cpu_model(std::string_view cpuinfo);

// The cores whose event codes are known (event_table.cpp has the source of each code).
enum class Core {
  kZen1,
  kZen2,
  kZen3,
  kZen4,
  kZen5,
  kSkylakeServer,  // Skylake-SP, Cascade Lake, Cooper Lake: one model number, the same codes
  kIceLakeServer,
  kSapphireRapids,  // and Emerald Rapids
  kGraniteRapids,
  kOtherIntel,
  kOtherAmd,
  kArm,
  kUnknown,
};

Core core_of(const CpuModel& cpu);

// "Zen 4", "Ice Lake-SP", "another Intel CPU" ...
[[nodiscard]] std::string_view to_string(Core core);

}  // namespace pinion::metrics::perf
