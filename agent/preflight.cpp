#include "agent/preflight.h"

#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>

#include "agent/cgroup/partitions.h"
#include "agent/cgroup/qos_groups.h"
#include "base/open_files.h"
#include "base/whole_file.h"
#include "metrics/perf/limits.h"

namespace pinion::agent {
namespace {

using engine::FenceKind;
using topology::CpuSet;
using topology::NodeSet;
using topology::Source;

// Whether partitions work, after the empty ones of a killed agent were taken away. Live ones show
// that they do without a trial.
Status try_partitions(const cgroup::Hierarchy& hierarchy, const topology::CpuSet& online) {
  if (hierarchy.version != 2) {
    return failure(Errc::kUnavailable, "the cpuset controller is on cgroup v1");
  }
  const cgroup::Partitions partitions(hierarchy.mount);
  const auto swept = partitions.sweep(false);
  if (!swept) return failure(swept.error());
  return swept->left > 0 ? Status() : partitions.probe(online);
}

void note_denied(const Error& error, Enforcement& result) {
  if (error.code == Errc::kDenied && result.denied.empty()) result.denied = error.text;
}

// The best fence of a writable hierarchy, or the one that is asked for; `result.why` gains what
// stands in the way of a better one.
void try_fences(FenceChoice asked, const cgroup::Hierarchy& hierarchy,
                const topology::CpuSet& online, Enforcement& result) {
  result.fence = FenceKind::kLeaf;
  if (asked == FenceChoice::kAuto || asked == FenceChoice::kPartition) {
    const auto guarding = try_partitions(hierarchy, online);
    if (guarding) {
      result.fence = FenceKind::kPartition;
      return;
    }
    result.why += "; no partitions: " + guarding.error().text;
    note_denied(guarding.error(), result);
  }
  // A partition that an agent before this one has made would never change again.
  if (hierarchy.version == 2) (void)cgroup::Partitions(hierarchy.mount).sweep(true);
  if (asked == FenceChoice::kAuto || asked == FenceChoice::kTree) {
    const auto narrowing = cgroup::probe_narrowing(hierarchy, online);
    if (narrowing) {
      result.fence = FenceKind::kTree;
    } else {
      result.why += "; QoS groups cannot be narrowed: " + narrowing.error().text;
      note_denied(narrowing.error(), result);
    }
  }
}

}  // namespace

Result<std::string> kubelet_policy(const std::string& state_file) {
  const auto state = nlohmann::json::parse(state_file, nullptr, false);
  if (!state.is_object()) return failure(Errc::kInvalid, "not a JSON object");
  const auto policy = state.find("policyName");
  if (policy == state.end() || !policy->is_string()) {
    return failure(Errc::kInvalid, "it has no policyName");
  }
  return policy->get<std::string>();
}

Status reserve_descriptors() {
  constexpr std::uint64_t least = metrics::perf::kReservedDescriptors;
  const auto limit = allow_open_files(std::numeric_limits<std::uint64_t>::max());
  if (!limit) return failure(limit.error());
  if (limit->soft >= least) return {};
  return failure(Errc::kExhausted, "the limit on open files (RLIMIT_NOFILE) is " +
                                       std::to_string(limit->hard) + ", at least " +
                                       std::to_string(least) + " are needed");
}

Status check_kubelet(const Config& config) {
  constexpr std::size_t longest = 8;  // MiB
  const std::string path = config.on_host(config.kubelet_dir) + "/cpu_manager_state";
  const auto text = read_plain_file(path, longest);
  if (!text && text.error().sys_errno == ENOENT) return {};
  if (!text) return failure(text.error().within("kubelet's state file"));
  const auto policy = kubelet_policy(*text);
  if (!policy) return failure(policy.error().within("kubelet's state file " + path));
  if (*policy != "static") return {};
  return failure(
      Errc::kDenied,
      "the kubelet pins containers itself (" + path +
          " says policy 'static'), and two masters would undo each other's work: set "
          "cpuManagerPolicy: none in the kubelet's configuration, drain the node, delete "
          "that file, restart the kubelet, then start pinion-agent");
}

Status check_described(const Config& config, const topology::Topology& described) {
  if (!config.topology) return {};
  Config without = config;
  without.topology.reset();
  const auto source = without.source();
  if (!source) return failure(source.error());
  const auto here = topology::discover(*source);
  if (!here) return {};
  std::string lacking;
  if (const CpuSet cpus = described.online - here->online; !cpus.empty()) {
    lacking = "CPUs " + cpus.to_string();
  }
  NodeSet nodes = described.memory_nodes();
  for (const topology::Node& node : here->nodes) nodes.remove(node.id);
  if (!nodes.empty()) {
    lacking += (lacking.empty() ? "" : " and ") + ("NUMA nodes " + nodes.to_string());
  }
  if (lacking.empty()) return {};
  return failure(Errc::kInvalid,
                 "topology: it has " + lacking +
                     ", which this machine lacks, so containers could not start there: leave the "
                     "setting out; pinionctl plan --topology tries another machine without an "
                     "agent");
}

// Where quotas are written; nothing where none may be.
std::optional<cgroup::Hierarchy> find_quotas(const Config& config) {
  auto cpu = cgroup::find_hierarchy(config.host_root, "cpu");
  if (!cpu || config.fence == FenceChoice::kRuntime) return std::nullopt;
  return *cpu;
}

Result<Enforcement> choose_enforcement(const Config& config, const topology::CpuSet& online) {
  Enforcement result;
  const auto source = config.source();
  if (!source) return failure(source.error());
  const bool elsewhere =
      source->kind == Source::Kind::kXml || source->kind == Source::Kind::kSynthetic;
  if (elsewhere) {
    result.why = "the topology is not this machine's, cgroup files are left alone";
  } else if (auto hierarchy = cgroup::find_hierarchy(config.host_root, "cpuset"); !hierarchy) {
    result.why = hierarchy.error().text;
  } else {
    if (!hierarchy->writable && config.fence != FenceChoice::kRuntime) {
      result.denied = "files below " + hierarchy->mount + " cannot be written";
    }
    hierarchy->writable = hierarchy->writable && config.fence != FenceChoice::kRuntime;
    result.why = "cgroup v" + std::to_string(hierarchy->version) + " at " + hierarchy->mount +
                 (hierarchy->writable ? "" : ", only read");
    if (hierarchy->writable) try_fences(config.fence, *hierarchy, online, result);
    result.files.emplace(*hierarchy, config.on_host("/proc"),
                         cgroup::QosWriter(systemd::manager_addresses(config.host_root)),
                         find_quotas(config));
  }
  if ((config.fence == FenceChoice::kPartition && result.fence != FenceKind::kPartition) ||
      (config.fence == FenceChoice::kTree && result.fence != FenceKind::kTree)) {
    return failure(Errc::kUnavailable, "fence '" + std::string(word_of(config.fence, kFenceWords)) +
                                           "' cannot work here: " + result.why);
  }
  if (config.fence == FenceChoice::kLeaf && result.fence != FenceKind::kLeaf) {
    return failure(Errc::kUnavailable,
                   "fence 'leaf' needs a writable cpuset hierarchy: " + result.why);
  }
  return result;
}

}  // namespace pinion::agent
