#include "metrics/figures.h"

namespace pinion::metrics {

std::string_view to_string(Event event) {
  static constexpr std::array<std::string_view, kEvents> names = {
      "context-switches", "cpu-migrations", "page-faults", "task-clock", "cycles",
      "instructions",     "l3-misses",      "local-dram",  "remote-dram"};
  return names[static_cast<std::size_t>(event)];
}

std::string_view to_string(Availability availability) {
  switch (availability) {
    case Availability::kCounted:
      return "counted";
    case Availability::kNotSupported:
      return "not supported";
    case Availability::kNotPermitted:
      return "not permitted";
    case Availability::kNoSuchPmu:
      return "no such PMU";
    case Availability::kNoDescriptor:
      return "no descriptor";
    case Availability::kOff:
      return "off";
  }
  return "";
}

}  // namespace pinion::metrics
