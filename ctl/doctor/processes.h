// The processes of a machine by name; those of the host: metrics/host_processes.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// CapEff of /proc/PID/status.
[[nodiscard]] std::optional<std::uint64_t> effective_capabilities(std::string_view status);

}  // namespace pinion::ctl::doctor
