#include "ctl/doctor/processes.h"

#include <algorithm>
#include <charconv>

#include "ctl/doctor/text_file.h"
#include "metrics/proc_files.h"
#include "metrics/text.h"

namespace pinion::ctl::doctor {
namespace {

namespace text = metrics::text;

std::string folder_of(const std::string& root, int pid) {
  return root + "/proc/" + std::to_string(pid);
}

// Arguments end in a zero byte each.
std::vector<std::string> arguments_of(const std::string& cmdline) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < cmdline.size();) {
    const std::size_t end = std::min(cmdline.find('\0', at), cmdline.size());
    words.push_back(cmdline.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

std::optional<std::string> flag_value(const std::vector<std::string>& arguments,
                                      std::string_view name) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (!word.starts_with('-')) continue;
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    if (!word.starts_with(name)) continue;
    word.remove_prefix(name.size());
    if (word.starts_with('=')) {
      value = std::string(word.substr(1));
    } else if (word.empty() && i + 1 < arguments.size()) {
      value = arguments[++i];
    }
  }
  return value;
}

std::vector<Process> find_processes(const std::string& root, std::string_view name) {
  std::vector<Process> found;
  const auto pids = metrics::processes_named(root, name);
  if (!pids) return found;
  for (const int pid : *pids) {
    const std::string folder = folder_of(root, pid);
    const auto cmdline = read_text(folder + "/cmdline");
    if (!cmdline || cmdline->empty()) continue;  // gone
    Process process{.pid = pid,
                    .arguments = arguments_of(*cmdline),
                    .root = folder + "/root",
                    .cwd = folder + "/cwd"};
    process.arguments.erase(process.arguments.begin());
    found.push_back(std::move(process));
  }
  return found;
}

std::string path_of(const Process& process, const std::string& path) {
  return path.starts_with('/') ? process.root + path : process.cwd + "/" + path;
}

std::optional<std::uint64_t> effective_capabilities(std::string_view status) {
  while (!status.empty()) {
    const auto digits = text::value_of(text::next_line(status), "CapEff");
    if (!digits) continue;
    std::uint64_t bits = 0;
    const auto [end, error] =
        std::from_chars(digits->data(), digits->data() + digits->size(), bits, 16);
    if (error != std::errc() || end != digits->data() + digits->size()) return std::nullopt;
    return bits;
  }
  return std::nullopt;
}

}  // namespace pinion::ctl::doctor
