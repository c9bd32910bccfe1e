// The host's own processes: neither the kernel's nor in a pod. No file of a container keeps them
// off exclusive CPUs.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "topology/cpuset.h"

namespace pinion::metrics {

struct HostProcess {
  std::string unit;  // its group: "/system.slice/ssh.service"; "/": in none
  std::string name;
  int pid = 0;
  topology::CpuSet cpus;  // that some of its threads may run on
};

// All but our own; once `stop` asks for that, those until then, the last perhaps with CPUs missing.
// `root` holds the machine's proc/. Errors: as the system says.
Result<std::vector<HostProcess>> host_processes(const std::string& root,
                                                const std::stop_token& stop = {});

// The group of the text of /proc/PID/cgroup that says where systemd has put it, or any other;
// nothing where it is in a pod.
[[nodiscard]] std::optional<std::string> host_unit(std::string_view text);

}  // namespace pinion::metrics
