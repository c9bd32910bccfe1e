#include "metrics/collect/rates.h"

#include <algorithm>

namespace pinion::metrics {
namespace {

using Value = std::optional<std::uint64_t>;

constexpr double kNanoseconds = 1e9;

std::optional<double> growth(const Value& before, const Value& now) {
  if (!before || !now || *now < *before) return std::nullopt;
  return static_cast<double>(*now - *before);
}

Value value_of(const ContainerFigures& figures, Event event) {
  const auto& count = figures.event(event);
  return count ? Value(count->value) : std::nullopt;
}

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

std::optional<double> scaled(const std::optional<double>& value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

// Resident memory that lies on other nodes than the container's CPUs.
std::optional<double> remote_memory(const ContainerFigures& figures) {
  if (!figures.who || figures.who->mems.empty()) return std::nullopt;
  const auto own = topology::NodeSet::parse(figures.who->mems);
  if (!own) return std::nullopt;
  double all = 0;
  double remote = 0;
  for (const NodeMemory& part : figures.memory) {
    const auto bytes = static_cast<double>(part.bytes);
    all += bytes;
    if (!own->contains(part.node)) remote += bytes;
  }
  return ratio(remote, all);
}

}  // namespace

void set_perf_rates(const ContainerFigures& before, double seconds, int cores,
                    ContainerFigures& now) {
  const auto of = [&](Event event) {
    return growth(value_of(before, event), value_of(now, event));
  };
  Rates& rates = now.rates;
  const auto instructions = of(Event::kInstructions);
  const auto misses = of(Event::kL3Misses);
  const auto local = of(Event::kLocalDram);
  const auto remote = of(Event::kRemoteDram);
  rates.instructions_per_cycle = ratio(instructions, of(Event::kCycles));
  rates.l3_misses_per_second = scaled(misses, 1 / seconds);
  rates.l3_misses_per_kilo_instruction = scaled(ratio(misses, instructions), 1000);
  rates.migrations_per_second = scaled(of(Event::kMigrations), 1 / seconds);
  rates.switches_per_second = scaled(of(Event::kContextSwitches), 1 / seconds);
  if (local && remote) rates.remote_share = ratio(remote, *local + *remote);
  // What grows lags up to a reading behind (intrusion.h), so one may have what two ran.
  if (const auto ran = growth(before.intrusion_ns, now.intrusion_ns)) {
    rates.intrusion_share = std::min(*ran / (kNanoseconds * seconds * std::max(cores, 1)), 1.0);
  }
}

void set_cgroup_rates(const ContainerFigures& before, double seconds, ContainerFigures& now) {
  now.rates.cpus = scaled(growth(before.cpu_ns, now.cpu_ns), 1 / (kNanoseconds * seconds));
  now.rates.throttled_share = ratio(growth(before.throttled_periods, now.throttled_periods),
                                    growth(before.periods, now.periods));
  const bool counted = now.event(Event::kLocalDram) && now.event(Event::kRemoteDram);
  if (!counted) now.rates.remote_share = remote_memory(now);
}

void set_task_rates(const ContainerFigures& before, double seconds, ContainerFigures& now) {
  now.rates.involuntary_per_second =
      scaled(growth(before.involuntary_switches, now.involuntary_switches), 1 / seconds);
  now.rates.wait_share =
      scaled(growth(before.run_queue_wait_ns, now.run_queue_wait_ns), 1 / (kNanoseconds * seconds));
}

}  // namespace pinion::metrics
