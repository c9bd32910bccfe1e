#include "metrics/cgroup_text.h"

#include <array>
#include <map>

#include "metrics/text.h"

namespace pinion::metrics {
namespace {

constexpr std::uint64_t kMicro = 1000;  // nanoseconds

tl::unexpected<Error> bad(std::string_view kind, const std::string& what) {
  return failure(Errc::kInvalid, std::string(kind) + ": " + what);
}

using Nodes = std::map<topology::NodeId, std::uint64_t>;

// Adds words "N<node>=<number>", each number times `unit`; other words are no business of ours.
// False: a node or a number is not one, or does not fit.
bool add_nodes(std::string_view words, std::uint64_t unit, Nodes& nodes) {
  for (;;) {
    const std::string_view word = text::next_word(words);
    if (word.empty()) return true;
    const auto pair = text::after(word, "N");
    if (!pair) continue;
    const auto equals = pair->find('=');
    if (equals == std::string_view::npos) return false;
    const auto node = text::to_number<topology::NodeId>(pair->substr(0, equals));
    const auto number = text::to_number<std::uint64_t>(pair->substr(equals + 1));
    if (!node || *node < 0 || *node >= topology::NodeSet::kCapacity || !number) return false;
    const auto bytes = text::times(*number, unit);
    if (!bytes) return false;
    std::uint64_t& sum = nodes[*node];
    if (__builtin_add_overflow(sum, *bytes, &sum)) return false;
  }
}

std::vector<NodeMemory> to_list(const Nodes& nodes) {
  std::vector<NodeMemory> list;
  list.reserve(nodes.size());
  for (const auto& [node, bytes] : nodes) list.push_back({.node = node, .bytes = bytes});
  return list;
}

// "avg10=0.00 avg60=0.00 avg300=0.00 total=12345" -> the total in nanoseconds.
std::optional<std::uint64_t> total_ns(std::string_view words) {
  for (;;) {
    const std::string_view word = text::next_word(words);
    if (word.empty()) return std::nullopt;
    const auto digits = text::after(word, "total=");
    if (!digits) continue;
    const auto micros = text::to_number<std::uint64_t>(*digits);
    return micros ? text::times(*micros, kMicro) : std::nullopt;
  }
}

}  // namespace

Result<CpuStat> parse_cpu_stat(std::string_view text) {
  struct Key {
    std::string_view name;
    std::optional<std::uint64_t>* target;
    std::uint64_t unit;
  };
  CpuStat stat;
  const std::array keys{
      Key{"usage_usec", &stat.usage_ns, kMicro},
      Key{"user_usec", &stat.user_ns, kMicro},
      Key{"system_usec", &stat.system_ns, kMicro},
      Key{"nr_periods", &stat.periods, 1},
      Key{"nr_throttled", &stat.throttled_periods, 1},
      Key{"throttled_usec", &stat.throttled_ns, kMicro},
      Key{"throttled_time", &stat.throttled_ns, 1},
  };
  while (!text.empty()) {
    const std::string_view line = text::next_line(text);
    std::string_view rest = line;
    const std::string_view name = text::next_word(rest);
    for (const Key& key : keys) {
      if (name != key.name) continue;
      const auto value = text::to_number<std::uint64_t>(text::trimmed(rest));
      if (!value) return text::bad_line("cpu.stat", line);
      *key.target = text::times(*value, key.unit);
      if (!*key.target) return text::bad_line("cpu.stat", line);
    }
  }
  return stat;
}

Result<CpuacctStat> parse_cpuacct_stat(std::string_view text) {
  std::optional<std::uint64_t> user;
  std::optional<std::uint64_t> system;
  while (!text.empty()) {
    const std::string_view line = text::next_line(text);
    std::string_view rest = line;
    const std::string_view name = text::next_word(rest);
    if (name != "user" && name != "system") continue;
    const auto value = text::to_number<std::uint64_t>(text::trimmed(rest));
    if (!value) return text::bad_line("cpuacct.stat", line);
    (name == "user" ? user : system) = value;
  }
  if (!user) return bad("cpuacct.stat", "no line 'user'");
  if (!system) return bad("cpuacct.stat", "no line 'system'");
  return CpuacctStat{.user_ticks = *user, .system_ticks = *system};
}

Result<std::uint64_t> parse_single_number(std::string_view text, std::string_view kind) {
  const auto value = text::to_number<std::uint64_t>(text::trimmed(text));
  if (!value) return bad(kind, "no number: " + text::quoted(text));
  return *value;
}

Result<std::vector<std::uint64_t>> parse_usage_percpu(std::string_view text) {
  constexpr std::string_view kind = "cpuacct.usage_percpu";
  std::vector<std::uint64_t> usage;
  for (;;) {
    const std::string_view word = text::next_word(text);
    if (word.empty()) break;
    const auto value = text::to_number<std::uint64_t>(word);
    if (!value) return bad(kind, "no number: " + text::quoted(word));
    if (usage.size() == topology::CpuSet::kCapacity) return bad(kind, "too many CPUs");
    usage.push_back(*value);
  }
  if (usage.empty()) return bad(kind, "no CPU");
  return usage;
}

Result<std::vector<NodeMemory>> parse_numa_stat_v1(std::string_view text,
                                                   std::uint64_t page_bytes) {
  while (!text.empty()) {
    const std::string_view line = text::next_line(text);
    const auto rest = text::after(line, "total=");
    if (!rest) continue;
    Nodes nodes;
    if (!add_nodes(*rest, page_bytes, nodes)) return text::bad_line("memory.numa_stat", line);
    return to_list(nodes);
  }
  return bad("memory.numa_stat", "no line 'total='");
}

Result<std::vector<NodeMemory>> parse_numa_stat_v2(std::string_view text) {
  Nodes nodes;
  bool found = false;
  while (!text.empty()) {
    const std::string_view line = text::next_line(text);
    std::string_view rest = line;
    const std::string_view name = text::next_word(rest);
    if (name != "anon" && name != "file") continue;
    found = true;
    if (!add_nodes(rest, 1, nodes)) return text::bad_line("memory.numa_stat", line);
  }
  if (!found) return bad("memory.numa_stat", "no line 'anon' or 'file'");
  return to_list(nodes);
}

Result<Pressure> parse_pressure(std::string_view text) {
  Pressure pressure;
  while (!text.empty()) {
    const std::string_view line = text::next_line(text);
    std::string_view rest = line;
    const std::string_view name = text::next_word(rest);
    if (name != "some" && name != "full") continue;
    const auto total = total_ns(rest);
    if (!total) return text::bad_line("pressure", line);
    (name == "some" ? pressure.some_ns : pressure.full_ns) = total;
  }
  return pressure;
}

}  // namespace pinion::metrics
