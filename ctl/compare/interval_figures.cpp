#include "ctl/compare/interval_figures.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <utility>

#include "topology/cpuset.h"

namespace pinion::ctl {
namespace {

using v1::Container;
using v1::Figures;
using v1::Rates;

constexpr std::uint64_t kPassesOfAll = 10;  // v1::Snapshot.pass

constexpr std::size_t at(Quantity quantity) {
  return static_cast<std::size_t>(quantity);
}

// A sum that is only there when something was added.
struct Sum {
  std::optional<double> value;

  void add(double more) { value = value.value_or(0) + more; }
};

std::string matched_text(const Container& container) {
  return container.namespace_() + "/" + container.pod() + "/" + container.name();
}

// Counted between two snapshots by one container; not set where one of them lacks the counter or it
// went back (another life of the agent).
template <class Has, class Get>
std::optional<double> counted(const Figures& before, const Figures& now, Has has, Get get) {
  if (!(before.*has)() || !(now.*has)() || (now.*get)() < (before.*get)()) return std::nullopt;
  return static_cast<double>((now.*get)() - (before.*get)());
}

// What the ratios are made of, summed over the containers that count both parts.
struct Counted {
  double cycles = 0;
  double cycles_instructions = 0;  // of containers that count cycles too
  double misses = 0;
  double misses_instructions = 0;
  double local = 0;
  double remote = 0;

  void add(const Figures& before, const Figures& now) {
    const auto cycles_now = counted(before, now, &Figures::has_cycles, &Figures::cycles);
    const auto instructions =
        counted(before, now, &Figures::has_instructions, &Figures::instructions);
    const auto misses_now = counted(before, now, &Figures::has_l3_misses, &Figures::l3_misses);
    const auto local_now = counted(before, now, &Figures::has_local_dram, &Figures::local_dram);
    const auto remote_now = counted(before, now, &Figures::has_remote_dram, &Figures::remote_dram);
    if (cycles_now && instructions) {
      cycles += *cycles_now;
      cycles_instructions += *instructions;
    }
    if (misses_now && instructions) {
      misses += *misses_now;
      misses_instructions += *instructions;
    }
    if (local_now && remote_now) {
      local += *local_now;
      remote += *remote_now;
    }
  }
};

const Container* find(const std::vector<Container>& sorted, const std::string& id) {
  const auto place =
      std::lower_bound(sorted.begin(), sorted.end(), id,
                       [](const Container& one, const std::string& key) { return one.id() < key; });
  return place != sorted.end() && place->id() == id ? &*place : nullptr;
}

Counted counted_since(const std::vector<Container>& before, const std::vector<Container>& now) {
  Counted sums;
  for (const Container& container : now) {
    const Container* earlier = find(before, container.id());
    if (earlier != nullptr) sums.add(earlier->figures(), container.figures());
  }
  return sums;
}

double cpus_of(const Container& container) {
  const auto cpus = topology::CpuSet::parse(container.cpus());
  return cpus && !cpus->empty() ? cpus->count() : 1;
}

// Sums over the containers' own rates, by quantity.
std::array<Sum, kQuantities> summed_rates(const std::vector<Container>& containers) {
  std::array<Sum, kQuantities> sums;
  double intruded_cpus = 0;
  double with_pages = 0;
  for (const Container& container : containers) {
    const Rates& rates = container.rates();
    if (rates.has_cpus()) sums[at(Quantity::kCpu)].add(rates.cpus());
    if (rates.has_migrations_per_second()) {
      sums[at(Quantity::kMigrations)].add(rates.migrations_per_second());
    }
    if (rates.has_involuntary_per_second()) {
      sums[at(Quantity::kInvoluntary)].add(rates.involuntary_per_second());
    }
    if (rates.has_switches_per_second()) {
      sums[at(Quantity::kSwitches)].add(rates.switches_per_second());
    }
    if (rates.has_wait_share()) sums[at(Quantity::kWait)].add(rates.wait_share());
    if (rates.has_l3_misses_per_second()) {
      sums[at(Quantity::kL3Misses)].add(rates.l3_misses_per_second());
    }
    if (rates.has_remote_share()) {
      sums[at(Quantity::kRemote)].add(rates.remote_share() * 100);
      with_pages += 1;
    }
    if (rates.has_intrusion_share()) {
      sums[at(Quantity::kIntrusion)].add(rates.intrusion_share() * 100 * cpus_of(container));
      intruded_cpus += cpus_of(container);
    }
  }
  if (auto& remote = sums[at(Quantity::kRemote)].value) *remote /= with_pages;
  if (auto& intrusion = sums[at(Quantity::kIntrusion)].value) *intrusion /= intruded_cpus;
  return sums;
}

bool same(const std::vector<Container>& a, const std::vector<Container>& b) {
  using google::protobuf::util::MessageDifferencer;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Container& one, const Container& other) {
                      return MessageDifferencer::Equals(one.figures(), other.figures()) &&
                             MessageDifferencer::Equals(one.rates(), other.rates());
                    });
}

}  // namespace

std::vector<Measure> measures_of(const Series& a, const Series& b) {
  std::vector<Measure> measures;
  measures.reserve(kQuantityNames.size());
  for (const QuantityName& each : kQuantityNames) {
    measures.push_back({std::string(each.name), std::string(each.unit), a[at(each.quantity)],
                        b[at(each.quantity)]});
  }
  return measures;
}

bool Selection::holds(const Container& container) const {
  if (container.finished()) return false;
  if (!job.empty() && container.job() != job) return false;
  return matched_text(container).find(match) != std::string::npos;
}

std::string Selection::to_string() const {
  std::string text = "container";
  if (!job.empty()) text += " of job '" + job + "'";
  if (!match.empty()) text += " like '" + match + "'";
  return text;
}

bool IntervalFigures::is_new(const v1::Snapshot& snapshot,
                             const std::vector<Container>& now) const {
  if (!same(before_, now)) return true;
  return pass_ > 0 && snapshot.pass() >= pass_ + kPassesOfAll;
}

void IntervalFigures::add(const v1::Snapshot& snapshot) {
  if (snapshot.node().instance() != instance_) {  // its counters began anew
    before_.clear();
    pass_ = 0;
  }
  instance_ = snapshot.node().instance();
  std::vector<Container> now;
  for (const Container& container : snapshot.containers()) {
    if (selection_.holds(container)) now.push_back(container);
  }
  seen_ += now.size();
  std::sort(now.begin(), now.end(),
            [](const Container& a, const Container& b) { return a.id() < b.id(); });
  if (!before_.empty() && !is_new(snapshot, now)) return;
  pass_ = snapshot.pass();
  const auto sums = summed_rates(now);
  std::array<std::optional<double>, kQuantities> values;
  for (std::size_t i = 0; i < kQuantities; ++i) values[i] = sums[i].value;
  const Counted counted = counted_since(before_, now);
  if (counted.cycles > 0) values[at(Quantity::kIpc)] = counted.cycles_instructions / counted.cycles;
  if (counted.misses_instructions > 0) {
    values[at(Quantity::kMpki)] = counted.misses / counted.misses_instructions * 1000;
  }
  if (const double all = counted.local + counted.remote; all > 0) {
    values[at(Quantity::kRemote)] = counted.remote / all * 100;
  }
  for (std::size_t i = 0; i < kQuantities; ++i) {
    if (values[i]) series_[i].push_back(*values[i]);
  }
  before_ = std::move(now);
}

}  // namespace pinion::ctl
