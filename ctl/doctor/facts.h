// What the readers bring and the checks judge: values alone.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/x509/read.h"
#include "metrics/host_processes.h"
#include "proto/pinion/v1/node.pb.h"
#include "topology/cpuset.h"

namespace pinion::ctl::doctor {

// What could not be read, by the name of a file or program, and why.
using Unread = std::vector<Error>;

// Of the kubelet's configuration file and flags. Empty texts: not stated.
struct KubeletSettings {
  std::string cpu_manager_policy;
  std::string memory_manager_policy;
  std::string cgroup_driver;
  std::optional<topology::CpuSet> reserved_cpus;  // reservedSystemCPUs
  std::int64_t reserved_milli = 0;  // CPU of systemReserved and kubeReserved, in thousandths

  bool operator==(const KubeletSettings&) const = default;
};

struct KubeletFacts {
  bool running = false;
  std::string config_path;
  std::optional<KubeletSettings> settings;  // nothing: no kubelet here, or `unread` says why
  std::string state_path;
  std::optional<std::string> state_policy;  // of cpu_manager_state; nothing: no such file
  Unread unread;
};

// Of containerd's configuration. Nothing: not stated.
struct ContainerdSettings {
  std::int64_t version = 1;  // of the file's format
  std::optional<bool> nri_disabled;
  std::optional<bool> connections_disabled;  // of plugins that are not launched by the runtime
  std::string nri_socket;
  std::optional<bool> systemd_cgroup;  // of runc
  std::vector<std::string> imports;    // patterns of further files

  bool operator==(const ContainerdSettings&) const = default;
};

struct RuntimeFacts {
  std::string config_path;
  std::optional<ContainerdSettings> settings;
  std::string socket_path;  // of NRI
  Status socket;            // whether somebody answers there
  Unread unread;
};

// A group that the kubelet has made for all pods.
struct PodsGroup {
  std::string path;  // below the mount
  std::set<std::string> controllers;
};

struct CgroupFacts {
  int version = 0;                    // of the hierarchy with cpusets; 0: none is mounted
  std::set<std::string> controllers;  // of the root group; v2 only
  std::vector<PodsGroup> pods;        // kubepods, kubepods.slice: those that are there
  bool systemd = false;               // systemd is the machine's init
  Unread unread;
};

struct AgentFacts {
  bool running = false;     // a process of that name
  int pid = 0;              // of it
  std::vector<int> others;  // further ones, of which nothing is read
  std::string address;      // that was asked
  Result<v1::Snapshot> snapshot = failure(Errc::kNotFound, "not asked");
  std::string config_path;                              // empty: none found
  std::optional<topology::CpuSet> configured_reserved;  // by its configuration
  std::string configured_fence;                         // the same; empty: not stated
  std::optional<std::uint64_t> capabilities;            // effective ones of the process, as bits
  Unread unread;
};

struct PerfFacts {
  std::optional<int> paranoid;  // kernel.perf_event_paranoid
};

struct ClockFacts {
  std::optional<bool> synchronized;  // as the kernel knows; nothing: not asked
};

// One file in PEM with one or more certificates.
struct CertificateFile {
  std::string use;   // "pinion-agent's apiCert"
  std::string path;  // as its owner names it
  Result<std::vector<x509::Certificate>> certificates;
};

struct NodeFacts {
  KubeletFacts kubelet;
  RuntimeFacts runtime;
  CgroupFacts cgroup;
  AgentFacts agent;
  PerfFacts perf;
  ClockFacts clock;
  std::int64_t now = 0;  // seconds since 1970
  std::vector<CertificateFile> certificates;
  Result<std::vector<metrics::HostProcess>> processes = failure(Errc::kNotFound, "not read");
};

}  // namespace pinion::ctl::doctor
