// Any text as /proc/cpuinfo: some CPU comes out, and a layout of its events that fits each PMU.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metrics/perf/layout.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::perf_cpu {
PINION_FUZZ_TARGET(perf_cpu) {
  using namespace pinion::metrics;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const perf::CpuModel cpu = perf::parse_cpu_model(text);
  if (!cpu.name.empty() && text.find(cpu.name) == std::string_view::npos) std::abort();
  if (cpu.family < -1 || cpu.model < -1) std::abort();

  const perf::Core core = perf::core_of(cpu);
  std::vector<perf::Counted> events;
  for (std::size_t i = 0; i < kEvents; ++i) {
    const perf::Code code = perf::code_of(core, static_cast<Event>(i));
    if (code.detail.empty()) std::abort();
    if (code.encoding) events.push_back({static_cast<Event>(i), *code.encoding});
  }
  for (int counters = 0; counters < 8; ++counters) {
    const perf::EventSet set = perf::layout(events, counters);
    if (set.events() != (counters == 0 ? kSoftwareEvents : events.size())) std::abort();
    for (const perf::Group& group : set.groups) {
      const auto limit = static_cast<std::size_t>(counters);
      if (!perf::is_software(group.front().event) && group.size() > limit) std::abort();
    }
  }
  return 0;
}

}  // namespace pinion::fuzz::perf_cpu
