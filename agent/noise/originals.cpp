#include "agent/noise/originals.h"

#include <algorithm>
#include <optional>

namespace pinion::noise {
namespace {

using topology::CpuSet;

constexpr std::string_view kFirstLine = "pinion-kernel-noise 1";
constexpr std::string_view kBoot = "boot ";
constexpr std::string_view kLastLine = "end";
constexpr std::size_t kLongestBoot = 64;

// The next line without its newline; nothing where none ends any more.
std::optional<std::string_view> take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const auto line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

// The text before the next blank.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<std::string_view> boot_in(std::string_view line) {
  if (!line.starts_with(kBoot)) return std::nullopt;
  line.remove_prefix(kBoot.size());
  const auto known = [](char c) {
    return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  };
  if (line.size() > kLongestBoot || !std::all_of(line.begin(), line.end(), known)) {
    return std::nullopt;
  }
  return line;
}

Status take_entry(std::string_view line, std::map<Knob, CpuSet>& entries) {
  const auto kind = value_of(take_word(line), kKindWords);
  if (!kind) return failure(Errc::kInvalid, "unknown kind");
  const auto knob = make_knob(*kind, take_word(line));
  if (!knob) return failure(Errc::kInvalid, "no name of that kind");
  const auto cpus = CpuSet::parse(line);
  if (!cpus) return failure(cpus.error());
  if (cpus->empty()) return failure(Errc::kInvalid, "no CPUs");
  if (!entries.emplace(*knob, *cpus).second) return failure(Errc::kInvalid, "twice");
  if (entries.size() > kMostKnobs) return failure(Errc::kInvalid, "too many");
  return {};
}

Error at_line(std::size_t line, const std::string& what) {
  return {
      .code = Errc::kInvalid, .sys_errno = 0, .text = "line " + std::to_string(line) + ": " + what};
}

}  // namespace

std::string encode(const Originals& originals) {
  std::string text(kFirstLine);
  text.append("\n").append(kBoot).append(originals.boot).append("\n");
  for (const auto& [knob, cpus] : originals.cpus) {
    text.append(to_string(knob)).append(" ").append(cpus.to_string()).append("\n");
  }
  return text.append(kLastLine).append("\n");
}

Result<Originals> decode(std::string_view text) {
  Originals originals;
  if (take_line(text) != kFirstLine) {
    return failure(at_line(1, "expected '" + std::string(kFirstLine) + "'"));
  }
  const auto boot_line = take_line(text);
  const auto boot = boot_line ? boot_in(*boot_line) : std::nullopt;
  if (!boot) return failure(at_line(2, "expected 'boot' and the boot's id"));
  originals.boot = *boot;
  for (std::size_t number = 3;; ++number) {
    const auto line = take_line(text);
    if (!line) return failure(at_line(number, "cut off"));
    if (*line == kLastLine) break;
    if (const auto taken = take_entry(*line, originals.cpus); !taken) {
      return failure(at_line(number, taken.error().text));
    }
  }
  if (!text.empty()) return failure(Errc::kInvalid, "text after the last line");
  return originals;
}

}  // namespace pinion::noise
