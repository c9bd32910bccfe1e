#include "metrics/host_processes.h"

#include <unistd.h>

#include "base/whole_file.h"
#include "metrics/proc_files.h"
#include "metrics/text.h"

namespace pinion::metrics {
namespace {

using text::next_line;
using text::value_of;

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

// CPUs that some of its threads may run on; of those read until `stop` asks for an end.
topology::CpuSet cpus_of(const std::string& root, int pid, const std::stop_token& stop) {
  topology::CpuSet cpus;
  const auto threads = list_threads(root, pid);
  if (!threads) return cpus;  // gone
  for (const int thread : *threads) {
    if (stop.stop_requested()) break;
    const auto status = read_task_status(root, pid, thread);
    if (status && status->cpus_allowed) cpus |= *status->cpus_allowed;
  }
  return cpus;
}

// Its name; nothing for one without memory of its own: the kernel's, or a zombie.
std::optional<std::string> name_in(std::string_view status) {
  std::string name;
  bool has_memory = false;
  while (!status.empty()) {
    const std::string_view line = next_line(status);
    if (const auto value = value_of(line, "Name")) name = *value;
    has_memory = has_memory || value_of(line, "VmSize");
  }
  return has_memory ? std::optional(name) : std::nullopt;
}

// Nothing: the kernel's, a zombie, in a pod, or gone.
std::optional<HostProcess> host_process(const std::string& root, int pid,
                                        const std::stop_token& stop) {
  const std::string folder = root + "/proc/" + std::to_string(pid);
  const auto status = read_file(folder + "/status", 1);
  auto name = status ? name_in(*status) : std::nullopt;
  if (!name) return std::nullopt;
  const auto groups = read_file(folder + "/cgroup", 1);
  auto unit = groups ? host_unit(*groups) : std::nullopt;
  if (!unit) return std::nullopt;
  return HostProcess{.unit = *std::move(unit),
                     .name = *std::move(name),
                     .pid = pid,
                     .cpus = cpus_of(root, pid, stop)};
}

}  // namespace

Result<std::vector<HostProcess>> host_processes(const std::string& root,
                                                const std::stop_token& stop) {
  const auto all = list_processes(root);
  if (!all) return failure(all.error());
  std::vector<HostProcess> found;
  for (const int pid : *all) {
    if (stop.stop_requested()) break;
    if (pid == getpid()) continue;
    if (auto process = host_process(root, pid, stop)) found.push_back(*std::move(process));
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

}  // namespace pinion::metrics
