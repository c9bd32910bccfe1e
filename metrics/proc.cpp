#include "metrics/proc.h"

#include <array>

#include "metrics/text.h"

namespace pinion::metrics {
namespace {

using text::next_line;
using text::next_word;
using text::to_number;
using text::trimmed;
using text::value_of;

constexpr int kLastCpu = 39;  // the last field of stat that is read

tl::unexpected<Error> bad_field(int number, std::string_view text) {
  return failure(Errc::kInvalid,
                 "stat: field " + std::to_string(number) + " is '" + std::string(text) + "'");
}

tl::unexpected<Error> bad_line(std::string_view line) {
  return failure(Errc::kInvalid, "status: line '" + std::string(line) + "'");
}

// Where a numbered field goes; nullptr for those that are skipped, and for the last CPU.
std::uint64_t* target_of(int field, TaskStat& stat) {
  switch (field) {
    case 10:
      return &stat.minor_faults;
    case 12:
      return &stat.major_faults;
    case 14:
      return &stat.user_ticks;
    case 15:
      return &stat.system_ticks;
    case 22:
      return &stat.start_ticks;
    default:
      return nullptr;
  }
}

// Fields 4 to 39, which follow the state.
Status parse_numbers(std::string_view rest, TaskStat& stat) {
  for (int field = 4; field <= kLastCpu; ++field) {
    const std::string_view word = next_word(rest);
    std::uint64_t* const target = target_of(field, stat);
    if (target == nullptr && field != kLastCpu) {
      if (word.empty()) return bad_field(field, word);
      continue;
    }
    const auto value = to_number<std::uint64_t>(word);
    if (!value) return bad_field(field, word);
    if (target != nullptr) {
      *target = *value;
      continue;
    }
    if (*value >= topology::CpuSet::kCapacity) return bad_field(field, word);
    stat.last_cpu = static_cast<topology::CpuId>(*value);
  }
  return {};
}

}  // namespace

Result<TaskStat> parse_task_stat(std::string_view line) {
  // comm is the program's to choose, so only the last ')' ends it.
  const auto open = line.find('(');
  const auto close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return failure(Errc::kInvalid, "stat: no (comm)");
  }
  TaskStat stat;
  const auto id = to_number<int>(trimmed(line.substr(0, open)));
  if (!id || *id < 0) return bad_field(1, line.substr(0, open));
  stat.id = *id;
  stat.comm = std::string(line.substr(open + 1, close - open - 1));
  std::string_view rest = line.substr(close + 1);
  const std::string_view state = next_word(rest);
  if (state.size() != 1) return bad_field(3, state);
  stat.state = state[0];
  if (Status numbers = parse_numbers(rest, stat); !numbers) return failure(numbers.error());
  return stat;
}

Result<TaskStatus> parse_task_status(std::string_view text) {
  TaskStatus status;
  const std::array numbers{
      std::pair{std::string_view("Threads"), &status.threads},
      std::pair{std::string_view("voluntary_ctxt_switches"), &status.voluntary_switches},
      std::pair{std::string_view("nonvoluntary_ctxt_switches"), &status.involuntary_switches},
  };
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (const auto list = value_of(line, "Cpus_allowed_list")) {
      auto cpus = topology::CpuSet::parse(*list);
      if (!cpus) return bad_line(line);
      status.cpus_allowed = *cpus;
    }
    if (const auto list = value_of(line, "Mems_allowed_list")) {
      auto mems = topology::NodeSet::parse(*list);
      if (!mems) return bad_line(line);
      status.mems_allowed = *mems;
    }
    for (const auto& [key, target] : numbers) {
      const auto digits = value_of(line, key);
      if (!digits) continue;
      const auto value = to_number<std::uint64_t>(*digits);
      if (!value) return bad_line(line);
      *target = *value;
    }
  }
  return status;
}

std::optional<std::uint64_t> parse_migrations(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (next_word(line) != "se.nr_migrations") continue;
    if (next_word(line) != ":") return std::nullopt;
    return to_number<std::uint64_t>(trimmed(line));
  }
  return std::nullopt;
}

}  // namespace pinion::metrics
