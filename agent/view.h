// What readers outside of the main thread see of the node: an immutable copy with a generation
// number, made by the main thread after events and handed out by Published. Nobody waits for the
// engine, and the engine waits for nobody.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/engine/engine.h"
#include "nri-plugin/counters.h"

namespace pinion::agent {

// A container, or what its pod keeps for one that does not run: then `id` is that of the claim, and
// `name` is empty for what is kept for containers to come.
struct ContainerView {
  std::string id;
  std::string claim;  // what the ledger calls its cores
  std::string name;
  std::string pod;
  std::string name_space;
  std::string pod_uid;
  std::string cgroups_path;  // linux.cgroups_path, as the runtime says it
  std::uint32_t pid = 0;
  engine::Qos qos = engine::Qos::kUnknown;
  bool exclusive = false;
  bool started = false;     // its cgroup exists
  bool seen_start = false;  // it was started while this agent watched
  engine::Cpuset decided;   // what it is to run on
  std::optional<engine::Cpuset> told;
  std::optional<engine::Applied> applied;
  std::string job;  // these three: of its annotations
  std::string task_group;
  topology::Profile profile = topology::Profile::kNone;
  topology::CpuSet lent;      // an exclusive one's own cores, while another runs there
  std::string lent_to;        // the pod's and the container's name of that other, with a slash
  topology::CpuSet borrowed;  // what of `decided` is lent to it
  bool with_pod = false;      // it shares `decided`, its pod's cores, with others of its pod
  engine::NoLoan not_lent = engine::NoLoan::kNone;  // why it does not lend what it would
  std::string why;                                  // as logged, of those that do not wait
  std::string trouble;                              // empty when all is well
};

// The last refusals, newest last.
struct RefusalView {
  std::int64_t unix_ms = 0;
  std::string name_space;
  std::string pod;
  std::string container;
  std::string reason;
  std::string text;
};
inline constexpr std::size_t kRefusalsKept = 32;

struct NodeView {
  std::uint64_t generation = 0;  // grows with every change; 1 is the first
  std::shared_ptr<const topology::Topology> topology;
  topology::Ledger ledger;
  std::set<engine::Privilege> privileges;  // what annotations may ask
  topology::CpuSet shared;                 // state.shared()
  topology::CpuSet pool;                   // where shared containers run
  std::string fence;
  bool fence_weakened = false;  // the agent lacks rights for the one that the machine allows
  bool compares_files = false;
  // All containers are known, and will be: the runtime tells them over a connection that is there.
  bool synchronized = false;
  bool was_synchronized = false;          // they were known once; what is shown is as of then
  std::vector<ContainerView> containers;  // ascending by id
  std::vector<RefusalView> refusals;
  engine::Counters counters;
  nri::Counters nri;
  std::string runtime_name;  // empty before the first Configure
  std::string runtime_version;
  std::string phase;  // "synchronized", "disconnected" ...
};

}  // namespace pinion::agent
