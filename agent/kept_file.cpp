#include "agent/kept_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/whole_file.h"

namespace pinion::agent {
namespace {

using engine::KeptCores;

constexpr std::string_view kFirstLine = "pinion-kept-cores 2";
constexpr std::string_view kLastLine = "end";
constexpr std::size_t kLongestFile = 8;  // MiB

// The text before the next `end`, which is taken too; nothing where there is none.
std::optional<std::string_view> take(std::string_view& text, char end) {
  const auto at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const auto found = text.substr(0, at);
  text.remove_prefix(at + 1);
  return found;
}

template <class T>
bool read_number(const std::optional<std::string_view>& text, T& value) {
  if (!text) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size();
}

std::optional<KeptCores> entry_in(std::string_view line) {
  KeptCores kept;
  const auto pod = take(line, ' ');
  const auto cpus = take(line, ' ');
  if (!pod || pod->empty() || !cpus) return std::nullopt;
  const auto set = topology::CpuSet::parse(*cpus);
  if (!set || set->empty()) return std::nullopt;
  if (!read_number(take(line, ' '), kept.count)) return std::nullopt;
  if (kept.count < 1 || kept.count > set->count()) return std::nullopt;
  if (!read_number(take(line, ' '), kept.memory)) return std::nullopt;
  if (!read_number(take(line, ' '), kept.part) || kept.part < 0) return std::nullopt;
  kept.pod_id = *pod;
  kept.cpus = *set;
  kept.container = line;
  if (kept.container.empty() && kept.part < 1) return std::nullopt;  // it is divided by
  return kept;
}

bool fits_a_line(const KeptCores& kept) {
  return !kept.pod_id.empty() && kept.pod_id.find_first_of(" \n") == std::string::npos &&
         kept.container.find('\n') == std::string::npos;
}

}  // namespace

std::string encode(const std::vector<KeptCores>& kept) {
  std::string text(kFirstLine);
  text += '\n';
  for (const KeptCores& one : kept) {
    if (!fits_a_line(one)) continue;
    text.append(one.pod_id).append(" ").append(one.cpus.to_string()).append(" ");
    text.append(std::to_string(one.count)).append(" ");
    text.append(std::to_string(one.memory)).append(" ");
    text.append(std::to_string(one.part)).append(" ").append(one.container).append("\n");
  }
  return text.append(kLastLine).append("\n");
}

Result<std::vector<KeptCores>> decode(std::string_view text) {
  std::vector<KeptCores> all;
  for (std::size_t number = 1;; ++number) {
    const auto line = take(text, '\n');
    if (number > 1 && line == kLastLine && text.empty()) return all;
    if (number == 1 && line == kFirstLine) continue;
    auto kept = line && number > 1 ? entry_in(*line) : std::nullopt;
    if (!kept) {
      return failure(Errc::kInvalid, "line " + std::to_string(number) + " is not what was written");
    }
    all.push_back(std::move(*kept));
  }
}

Result<std::vector<KeptCores>> load_kept(const std::string& path) {
  const auto text = read_plain_file(path, kLongestFile);
  if (!text && text.error().sys_errno == ENOENT) return std::vector<KeptCores>();
  if (!text) return failure(text.error());
  auto kept = decode(*text);
  if (!kept) return failure(std::move(kept.error()).within(path));
  return kept;
}

Status save_kept(const std::string& path, const std::vector<KeptCores>& kept) {
  if (!kept.empty()) {
    auto done = replace_file(path, encode(kept), false);
    if (!done) unlink(path.c_str());
    return done;
  }
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return sys_failure("remove " + path);
}

}  // namespace pinion::agent
