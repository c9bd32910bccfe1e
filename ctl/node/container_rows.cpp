#include "ctl/node/container_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/cli/table.h"

namespace pinion::ctl {
namespace {

using v1::Container;

constexpr std::array<std::pair<SortKey, std::string_view>, 9> kKeys = {{
    {SortKey::kCpu, "cpu"},
    {SortKey::kMpki, "mpki"},
    {SortKey::kL3Misses, "l3-misses"},
    {SortKey::kIpc, "ipc"},
    {SortKey::kMigrations, "migrations"},
    {SortKey::kSwitches, "switches"},
    {SortKey::kRemote, "remote"},
    {SortKey::kIntrusion, "intrusion"},
    {SortKey::kName, "name"},
}};

template <class Has, class Get>
std::optional<double> rate(const Container& container, Has has, Get get) {
  const v1::Rates& rates = container.rates();
  const double value = (rates.*get)();
  return (rates.*has)() && std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The run of digits that begins at `from`, without leading zeros.
std::string_view number_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  while (from + 1 < end && text[from] == '0') ++from;
  return text.substr(from, end - from);
}

// As people order names: "rank-2" before "rank-10".
bool before(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto at = static_cast<std::size_t>(in_a - a.begin());
  while (at > 0 && is_digit(a[at - 1])) --at;  // to the beginning of a number that differs
  const std::string_view number_a = number_at(a, at);
  const std::string_view number_b = number_at(b, at);
  if (!number_a.empty() && !number_b.empty() && number_a != number_b) {
    if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
    return number_a < number_b;
  }
  return a < b;
}

std::string trouble_of(const Container& container) {
  if (container.finished()) return "finished";
  if (!container.trouble().empty()) return plain(container.trouble());
  if (!container.not_lent().empty()) return "not lent: " + plain(container.not_lent_why());
  return container.started() ? "" : "not started";
}

// The NUMA nodes, by the kernel's numbers, that these CPUs lie in.
std::string numa_of(const v1::NodeState& node, const std::string& list) {
  const auto cpus = topology::CpuSet::parse(list);
  topology::NodeSet nodes;
  for (const v1::Domain& domain : node.numa_nodes()) {
    const auto its = topology::CpuSet::parse(domain.cpus());
    const auto id = static_cast<int>(domain.id());
    const bool fits = id >= 0 && id < topology::NodeSet::kCapacity;
    if (cpus && its && fits && its->intersects(*cpus)) nodes.add(id);
  }
  return nodes.empty() ? "-" : nodes.to_string();
}

std::string shown(const std::string& text) {
  return text.empty() ? "-" : plain(text);
}

// The CPUs, and with whom it shares them.
std::string cpus_text(const Container& container) {
  if (!container.lent_to().empty()) {
    return shown(container.claim()) + " (lent to " + plain(container.lent_to()) + ")";
  }
  std::string cpus = shown(container.cpus());
  if (container.exclusive()) return cpus;
  if (container.with_pod()) return cpus + " (with its pod)";
  return cpus + (container.borrowed().empty()
                     ? " (shared)"
                     : " (shared, borrowed " + plain(container.borrowed()) + ")");
}

}  // namespace

std::string full_name(const Container& container) {
  return plain(container.namespace_() + "/" + container.pod() + "/" + container.name());
}

topology::CpuSet held_cpus(const Container& container) {
  if (!container.exclusive() || container.finished()) return {};
  const auto cpus =
      topology::CpuSet::parse(container.claim().empty() ? container.cpus() : container.claim());
  return cpus ? *cpus : topology::CpuSet();
}

std::vector<const Container*> by_cores(const v1::Snapshot& snapshot) {
  std::vector<std::pair<int, const Container*>> holders;
  for (const Container& container : snapshot.containers()) {
    const int first = held_cpus(container).first();
    if (first >= 0) holders.emplace_back(first, &container);
  }
  std::sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->id()) < std::pair(b.first, b.second->id());
  });
  std::vector<const Container*> containers;
  containers.reserve(holders.size());
  for (const auto& [first, container] : holders) containers.push_back(container);
  return containers;
}

std::string_view to_string(SortKey key) {
  return kKeys[static_cast<std::size_t>(key)].second;
}

std::optional<SortKey> sort_key_of(std::string_view word) {
  for (const auto& [key, name] : kKeys) {
    if (name == word) return key;
  }
  return std::nullopt;
}

std::optional<double> value_of(const Container& container, SortKey key) {
  using v1::Rates;
  switch (key) {
    case SortKey::kCpu:
      return rate(container, &Rates::has_cpus, &Rates::cpus);
    case SortKey::kMpki:
      return rate(container, &Rates::has_l3_misses_per_kilo_instruction,
                  &Rates::l3_misses_per_kilo_instruction);
    case SortKey::kL3Misses:
      return rate(container, &Rates::has_l3_misses_per_second, &Rates::l3_misses_per_second);
    case SortKey::kIpc:
      return rate(container, &Rates::has_instructions_per_cycle, &Rates::instructions_per_cycle);
    case SortKey::kMigrations:
      return rate(container, &Rates::has_migrations_per_second, &Rates::migrations_per_second);
    case SortKey::kSwitches:
      return rate(container, &Rates::has_switches_per_second, &Rates::switches_per_second);
    case SortKey::kRemote:
      return rate(container, &Rates::has_remote_share, &Rates::remote_share);
    case SortKey::kIntrusion:
      return rate(container, &Rates::has_intrusion_share, &Rates::intrusion_share);
    case SortKey::kName:
      break;
  }
  return std::nullopt;
}

void sort_by(std::vector<const Container*>& containers, SortKey key) {
  struct Entry {
    bool missing = false;
    double value = 0;
    std::string name;
    const Container* container = nullptr;
  };
  std::vector<Entry> entries;
  for (const Container* container : containers) {
    const auto value = value_of(*container, key);
    entries.push_back({!value, value.value_or(0), full_name(*container), container});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.missing != b.missing) return b.missing;
    if (a.value != b.value) return a.value > b.value;
    if (a.name != b.name) return before(a.name, b.name);
    return a.container->id() < b.container->id();
  });
  containers.clear();
  for (const Entry& entry : entries) containers.push_back(entry.container);
}

std::string containers_table(const v1::Snapshot& snapshot, bool with_finished) {
  std::vector<const Container*> containers;
  for (const Container& container : snapshot.containers()) {
    if (with_finished || !container.finished()) containers.push_back(&container);
  }
  if (containers.empty()) return "no containers\n";
  sort_by(containers, SortKey::kName);
  std::vector<Row> rows = {{"CONTAINER", "QOS", "JOB", "GROUP", "CPUS", "NUMA", "CPU", "TROUBLE"}};
  for (const Container* container : containers) {
    const auto cpu = value_of(*container, SortKey::kCpu);
    const std::string& cpus = container->lent_to().empty() ? container->cpus() : container->claim();
    rows.push_back({full_name(*container), shown(container->qos()), shown(container->job()),
                    shown(container->task_group()), cpus_text(*container),
                    numa_of(snapshot.node(), cpus), cpu ? figure_text(*cpu) : "-",
                    trouble_of(*container)});
  }
  return table(rows, {6});
}

}  // namespace pinion::ctl
