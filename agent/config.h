// What an operator can set: by a YAML file, and by flags, which win.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "agent/engine/engine.h"
#include "topology/discover/discover.h"

namespace pinion::agent {

enum class FenceChoice { kAuto, kLeaf, kRuntime };
enum class LogFormat { kText, kJson };

struct Config {
  std::string nri_socket = "/var/run/nri/nri.sock";
  std::string nri_index = "10";         // two digits: our turn among the runtime's plugins
  std::string host_root = "/";          // where the host's /sys and /proc are
  std::optional<std::string> topology;  // as Source::parse; unset: the machine at host_root
  topology::CpuSet reserved;            // reservedSystemCPUs
  bool strict_reservation = false;      // strict-cpu-reservation
  engine::Defaults defaults;
  FenceChoice fence = FenceChoice::kAuto;
  std::string state_dir = "/run/pinion";             // lock and status socket
  std::string kubelet_dir = "/var/lib/kubelet";      // under host_root; its state file is read
  std::chrono::milliseconds audit_interval{10'000};  // 100 ms .. 1 h
  std::string ready_file;                            // empty: none
  std::string log_level = "info";                    // trace debug info warn error
  LogFormat log_format = LogFormat::kText;

  // Where the machine is read from.
  [[nodiscard]] Result<topology::Source> source() const;
};

// What the command line asks for.
struct Invocation {
  Config config;
  bool check_only = false;       // --check-config
  std::optional<int> exit_code;  // --help, --version or a usage error: already printed
};

// Reads flags and, with --config, the file. Errors: kInvalid or kNotFound, naming the flag, or the
// file, line and key.
Result<Invocation> read_command_line(int argc, const char* const* argv);

// The configuration as the YAML that would give it.
[[nodiscard]] std::string to_yaml(const Config& config);

}  // namespace pinion::agent
