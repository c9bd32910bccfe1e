// What an operator can set: by a YAML file, and by flags, which win.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/engine/engine.h"
#include "agent/noise/knob.h"
#include "base/log/log.h"
#include "base/settings/settings.h"
#include "base/usual_paths.h"
#include "policy/reserved.h"
#include "topology/discover/discover.h"
#include "topology/words.h"

namespace pinion::agent {

enum class FenceChoice { kAuto, kPartition, kTree, kLeaf, kRuntime };

// What is counted by perf, for each container.
enum class CountersChoice {
  kAll,       // software and hardware events of exclusive containers
  kSoftware,  // no hardware events: the PMU is left to others
  kOff,       // no perf at all
};
enum class SharedCounters {
  kLight,  // cgroup and /proc figures only, no perf
  kFull,   // as exclusive ones: an event on each CPU of the shared set for each container
};

inline constexpr std::array kFenceWords{Word<FenceChoice>{"auto", FenceChoice::kAuto},
                                        Word<FenceChoice>{"partition", FenceChoice::kPartition},
                                        Word<FenceChoice>{"tree", FenceChoice::kTree},
                                        Word<FenceChoice>{"leaf", FenceChoice::kLeaf},
                                        Word<FenceChoice>{"runtime", FenceChoice::kRuntime}};
inline constexpr std::array kPartitionWords{
    Word<engine::PartitionKinds>{"root", engine::PartitionKinds::kRoot},
    Word<engine::PartitionKinds>{"asked", engine::PartitionKinds::kAsked},
    Word<engine::PartitionKinds>{"isolated", engine::PartitionKinds::kIsolated}};
inline constexpr std::array kCountersWords{
    Word<CountersChoice>{"all", CountersChoice::kAll},
    Word<CountersChoice>{"software", CountersChoice::kSoftware},
    Word<CountersChoice>{"off", CountersChoice::kOff}};
inline constexpr std::array kSharedCountersWords{
    Word<SharedCounters>{"light", SharedCounters::kLight},
    Word<SharedCounters>{"full", SharedCounters::kFull}};

struct Config {
  std::string nri_socket = kUsualNriSocket;
  std::string nri_index = "10";         // two digits: our turn among the runtime's plugins
  std::string host_root = "/";          // where the host's /sys and /proc are
  std::optional<std::string> topology;  // as Source::parse; unset: the machine at host_root
  topology::CpuSet reserved;            // reservedSystemCPUs
  bool strict_reservation = false;      // strict-cpu-reservation
  policy::Defaults defaults;
  std::optional<topology::ReservedMemory> reserved_memory;  // unset: usual_reserved_memory()
  FenceChoice fence = FenceChoice::kAuto;
  engine::PartitionKinds partition = engine::PartitionKinds::kRoot;
  std::set<noise::Kind> kernel_noise;                // kept off exclusive CPUs
  std::string state_dir = kUsualStateDir;            // lock and agent.sock
  std::string kubelet_dir = "/var/lib/kubelet";      // under host_root; its state file is read
  std::chrono::milliseconds audit_interval{10'000};  // 100 ms .. 1 h
  std::string ready_file;                            // empty: none
  std::string metrics_listen;  // "ADDR:PORT" of /metrics, /livez, /readyz; empty: not served
  std::string probe_listen;    // "ADDR:PORT" of /livez and /readyz alone; empty: not served
  bool page_anywhere = false;  // serve the page and its JSON on other than loopback addresses
  std::string api_listen;      // "unix:PATH", "ADDR:PORT" or "off"; empty: in the state directory
  std::string api_cert;        // PEM files; needed for ADDR:PORT
  std::string api_key;
  std::string api_client_ca;
  CountersChoice counters = CountersChoice::kAll;
  SharedCounters shared_counters = SharedCounters::kLight;
  std::chrono::milliseconds counters_interval{1000};  // 100 ms .. 1 min
  std::string log_level = "info";                     // trace debug info warn error
  LogFormat log_format = LogFormat::kText;

  [[nodiscard]] policy::Reserved kept_back() const {
    return {.cpus = reserved, .strict = strict_reservation, .memory = reserved_memory};
  }
  // Where those who are on the node ask, unless apiListen is another socket or off.
  [[nodiscard]] std::string local_api() const { return "unix:" + state_dir + "/agent.sock"; }
  // Where the machine is read from.
  [[nodiscard]] Result<topology::Source> source() const;
  // Where the host's absolute path is to be found.
  [[nodiscard]] std::string on_host(const std::string& path) const;
};

// What keeps these settings, each good by itself, from ever starting; the machine is not looked at.
// Errors: kInvalid, naming the key.
Status check(const Config& config);

// The keys that are set and do nothing, each with the reason.
[[nodiscard]] std::vector<std::string> without_effect(const Config& config);

// As --help and --version say it.
[[nodiscard]] settings::Program program();

// Reads flags and, with --config, the file, and checks them together. Errors: kInvalid or
// kNotFound, naming the flag, or the file, line and key.
Result<Config> read_config(int argc, const char* const* argv);

// Sets in `config` what the YAML text sets. Errors: kInvalid with the line, for text that is not
// YAML, an unknown or doubled key, or a value out of range.
Status apply_yaml(const std::string& text, Config& config);

// The configuration as the YAML that would give it.
[[nodiscard]] std::string to_yaml(Config config);

}  // namespace pinion::agent
