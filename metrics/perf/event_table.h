// What each event is on which CPU: the code that the kernel is asked for, or that there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "metrics/figures.h"
#include "metrics/perf/cpu_model.h"

namespace pinion::metrics::perf {

// As in struct perf_event_attr of linux/perf_event.h.
struct Encoding {
  std::uint32_t type = 0;     // PERF_TYPE_*
  std::uint64_t config = 0;   // for PERF_TYPE_RAW: event select and unit mask, laid out by vendor
  std::uint64_t config1 = 0;  // none of the codes here needs it; an off-core event would

  bool operator==(const Encoding&) const = default;
};

struct Code {
  std::optional<Encoding> encoding;  // not set: this CPU has no such figure
  // For a human: what exactly is counted, or why nothing is. Static text.
  std::string_view detail;
};

// Raw codes of AMD: the event select has twelve bits, of which the upper four lie in config 35:32
// (AMD APM vol. 2, PerfEvtSel; linux: AMD64_EVENTSEL_EVENT). The unit mask is config 15:8.
constexpr std::uint64_t amd_config(unsigned event, unsigned mask) {
  return (event & 0xffU) | (std::uint64_t{mask & 0xffU} << 8U) |
         (std::uint64_t{(event >> 8U) & 0xfU} << 32U);
}

// Raw codes of Intel: event select 7:0, unit mask 15:8 (Intel SDM vol. 3, IA32_PERFEVTSELx).
constexpr std::uint64_t intel_config(unsigned event, unsigned mask) {
  return (event & 0xffU) | (std::uint64_t{mask & 0xffU} << 8U);
}

[[nodiscard]] Code code_of(Core core, Event event);

// True for the first kSoftwareEvents: counted by the kernel itself, without a PMU.
constexpr bool is_software(Event event) {
  return static_cast<std::size_t>(event) < kSoftwareEvents;
}

}  // namespace pinion::metrics::perf
