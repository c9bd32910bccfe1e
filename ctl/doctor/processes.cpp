#include "ctl/doctor/processes.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "ctl/doctor/text_file.h"
#include "metrics/proc_files.h"

namespace pinion::ctl::doctor {
namespace {

// Cuts the first line off `rest`.
std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

// What stands behind "NAME:" in /proc/PID/status, without blanks before it.
std::optional<std::string_view> status_line(std::string_view status, std::string_view name) {
  while (!status.empty()) {
    std::string_view line = next_line(status);
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return std::nullopt;
}

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

bool in_pod(std::string_view path) {
  for (std::size_t at = path.find("kubepods"); at != std::string_view::npos;
       at = path.find("kubepods", at + 1)) {
    const std::string_view rest = path.substr(at + std::string_view("kubepods").size());
    const bool begins = at > 0 && (path[at - 1] == '/' || path[at - 1] == '-');
    if (begins &&
        (rest.empty() || rest.front() == '/' || rest.front() == '.' || rest.front() == '-')) {
      return true;
    }
  }
  return false;
}

// CPUs that some of its threads may run on.
topology::CpuSet cpus_of(const std::string& root, int pid) {
  topology::CpuSet cpus;
  const auto threads = metrics::list_threads(root, pid);
  if (!threads) return cpus;  // gone
  for (const int thread : *threads) {
    const auto status = metrics::read_task_status(root, pid, thread);
    if (status && status->cpus_allowed) cpus |= *status->cpus_allowed;
  }
  return cpus;
}

// Nothing: the kernel's, a zombie, in a pod, or gone.
std::optional<HostProcess> host_process(const std::string& root, int pid) {
  const auto status = read_text(folder_of(root, pid) + "/status");
  if (!status || !status_line(*status, "VmSize")) return std::nullopt;  // no memory of its own
  const auto groups = read_text(folder_of(root, pid) + "/cgroup");
  if (!groups) return std::nullopt;
  auto unit = host_unit(*groups);
  if (!unit) return std::nullopt;
  HostProcess process{.unit = *std::move(unit), .name = {}, .pid = pid, .cpus = {}};
  if (const auto name = status_line(*status, "Name")) process.name = *name;
  process.cpus = cpus_of(root, pid);
  return process;
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

Result<std::vector<HostProcess>> host_processes(const std::string& root) {
  const auto all = metrics::list_processes(root);
  if (!all) return failure(all.error());
  std::vector<HostProcess> found;
  for (const int pid : *all) {
    if (pid == getpid()) continue;
    if (auto process = host_process(root, pid)) found.push_back(*std::move(process));
  }
  return found;
}

std::optional<std::string> host_unit(std::string_view text) {
  std::string unit = "/";
  while (!text.empty()) {
    const std::string_view line = next_line(text);  // "ID:CONTROLLERS:PATH"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (in_pod(path)) return std::nullopt;
    const bool systemd = controllers.empty() || controllers == "name=systemd";
    if (path.size() > 1 && (systemd || unit == "/")) unit = path;
  }
  return unit;
}

std::optional<std::uint64_t> effective_capabilities(std::string_view status) {
  const auto line = status_line(status, "CapEff");
  if (!line) return std::nullopt;
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), bits, 16);
  if (error != std::errc() || end != line->data() + line->size()) return std::nullopt;
  return bits;
}

}  // namespace pinion::ctl::doctor
