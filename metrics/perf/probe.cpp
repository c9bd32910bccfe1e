#include "metrics/perf/probe.h"

#include <cstdio>

#include "metrics/perf/refusal.h"

namespace pinion::metrics::perf {
namespace {

// No PMU of today takes more at once, and no layout asks for more.
constexpr std::size_t kMostCounters = 6;

class Probe {
 public:
  Probe(PerfSyscalls& syscalls, const ProbeOrder& order)
      : syscalls_(syscalls), order_(order), core_(core_of(order.machine.cpu)) {}

  EventAvailability look_at(Event event) {
    if (!is_software(event) && !order_.hardware) {
      return {event, Availability::kOff, "hardware events are switched off by configuration"};
    }
    const Code code = code_of(core_, event);
    if (!code.encoding) return {event, without_code(), text(code)};
    const Counted counted{event, *code.encoding};
    const auto opened = PerfGroup::open(syscalls_, {counted}, order_.target, order_.cpu);
    if (!opened) return {event, refused(event, opened.error()), reason(event, opened.error())};
    if (event == Event::kCycles && !alive(counted)) stands_still_ = true;
    if (!is_software(event) && stands_still_) {
      return {event, Availability::kNotSupported, "the PMU accepts events but does not count"};
    }
    counted_.push_back(counted);
    return {event, Availability::kCounted, text(code)};
  }

  // The largest group of hardware events that the kernel accepts. One and the same event with a
  // programmable counter is used: it could sit in any of them, but not in a fixed one.
  int counters() const {
    const Counted* any = nullptr;
    for (const Counted& each : counted_) {
      if (!is_software(each.event)) any = &each;
    }
    if (any == nullptr) return 0;
    std::size_t fit = 1;
    while (fit < kMostCounters) {
      const Group group(fit + 1, *any);
      if (!PerfGroup::open(syscalls_, group, order_.target, order_.cpu)) break;
      ++fit;
    }
    return static_cast<int>(fit);
  }

  [[nodiscard]] const std::vector<Counted>& counted() const { return counted_; }

 private:
  Availability without_code() const {
    return order_.machine.has_pmu ? Availability::kNotSupported : Availability::kNoSuchPmu;
  }

  Availability refused(Event event, const Error& error) const {
    return availability_of(error.sys_errno, !is_software(event), order_.machine.has_pmu);
  }

  std::string reason(Event event, const Error& error) const {
    if (refused(event, error) == Availability::kNoSuchPmu) {
      return "the kernel has no PMU of the cores; the host of a virtual machine must give it one";
    }
    return error.text;
  }

  // Cycles of this very thread: it runs, so they must grow.
  bool alive(const Counted& cycles) const {
    const auto own = PerfGroup::open(syscalls_, {cycles}, Target::self(), kAnyCpu);
    if (!own) return true;  // cannot be told this way
    std::vector<Reading> readings;
    if (!own->read(readings)) return true;
    return readings[0].value > 0 || readings[0].running == 0;
  }

  std::string text(const Code& code) const {
    std::string out(to_string(core_));
    out += ": ";
    out += code.detail;
    if (code.encoding && code.encoding->type == PERF_TYPE_RAW) {
      char number[32];
      std::snprintf(number, sizeof(number), " (raw 0x%04llx)",
                    static_cast<unsigned long long>(code.encoding->config));
      out += number;
    }
    return out;
  }

  PerfSyscalls& syscalls_;
  const ProbeOrder& order_;
  Core core_;
  bool stands_still_ = false;
  std::vector<Counted> counted_;
};

}  // namespace

Probed probe(PerfSyscalls& syscalls, const ProbeOrder& order) {
  Probe each(syscalls, order);
  Probed probed;
  for (std::size_t i = 0; i < kEvents; ++i) {
    probed.events.push_back(each.look_at(static_cast<Event>(i)));
  }
  probed.counters = each.counters();
  probed.set = layout(each.counted(), probed.counters);
  return probed;
}

}  // namespace pinion::metrics::perf
