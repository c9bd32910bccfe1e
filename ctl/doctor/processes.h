// The processes of a machine, by name and by group.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ctl/doctor/facts.h"

namespace pinion::ctl::doctor {

// The value of --NAME=VALUE or --NAME VALUE (one dash will do, as in Go); the last one wins.
[[nodiscard]] std::optional<std::string> flag_value(const std::vector<std::string>& arguments,
                                                    std::string_view name);

struct Process {
  int pid = 0;
  std::vector<std::string> arguments;  // without the program's own name
  std::string root;                    // where its files are, as we see them: ROOT/proc/PID/root
  std::string cwd;                     // ROOT/proc/PID/cwd
};

// The processes of that name, as metrics::processes_named(). `root` holds the machine's proc/.
[[nodiscard]] std::vector<Process> find_processes(const std::string& root, std::string_view name);

// A path as the process names it, where we see it.
[[nodiscard]] std::string path_of(const Process& process, const std::string& path);

// Processes that are neither the kernel's nor in a pod nor our own. Errors: as the system says.
Result<std::vector<HostProcess>> host_processes(const std::string& root);

// The group of the text of /proc/PID/cgroup that says where systemd has put it, or any other;
// nothing where it is in a pod.
[[nodiscard]] std::optional<std::string> host_unit(std::string_view text);

// CapEff of /proc/PID/status.
[[nodiscard]] std::optional<std::uint64_t> effective_capabilities(std::string_view status);

}  // namespace pinion::ctl::doctor
