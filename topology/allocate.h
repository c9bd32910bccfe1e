// Which cores a container gets: pure functions from values to values. The order of preference, in
// prose, stands at the head of allocate.cpp.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topology/ledger.h"
#include "topology/topology.h"

namespace pinion::topology {

// The domain that the CPUs of one container may not leave. Ordered from the narrowest to the
// widest.
enum class Align { kL3, kNuma, kSocket, kNone };
// An alignment also names a kind of domain: L3 domains, NUMA nodes, packages, and for kNone one
// domain, the machine, with index 0.
inline constexpr std::array kAligns = {Align::kL3, Align::kNuma, Align::kSocket, Align::kNone};

enum class Strength {
  kRequired,   // the asked alignment or a refusal
  kPreferred,  // climb to the next wider alignment when nothing fits, and say so
};

// How hyper-threads are given out on cores with several.
enum class Smt {
  kFullCore,    // whole cores: n must be a multiple of the threads per core (kubelet:
                // full-pcpus-only)
  kOnePerCore,  // n CPUs on n cores; the siblings are held too, so that nobody runs beside it
  kPack,        // any n CPUs; the free CPUs of cores that others hold a part of go first
  kPreferFull,  // any n CPUs: whole free cores as far as the number allows, the rest on cores that
                // others hold a part of, on a fresh core only where there is none (kubelet: static
                // without full-pcpus-only)
};

// Whether any n free CPUs will do, for the fit at least.
[[nodiscard]] constexpr bool takes_any_cpus(Smt smt) {
  return smt == Smt::kPack || smt == Smt::kPreferFull;
}

enum class MemoryPolicy {
  kBind,       // cpuset.mems is the nodes of the CPUs, and others of the domain where the limit
               // needs them; the limit is promised from their memory. See memory.h
  kPreferred,  // cpuset.mems stays open; nodes with enough free memory are chosen first. What it
               // uses of each is promised to nobody else, see memory.h
  kAny,        // the same, and memory plays no part in the choice
};

struct Request {
  std::string id;  // container
  int cpus = 0;    // >= 1
  Align align = Align::kNuma;
  Strength strength = Strength::kRequired;
  Smt smt = Smt::kPreferFull;
  MemoryPolicy memory_policy = MemoryPolicy::kBind;
  Bytes memory = 0;         // its limit; 0: none, nothing is promised
  std::string near_device;  // name or PCI address; its NUMA node comes first. Empty: any
  NodeSet near_nodes;       // where there is none: these come first, those of its own devices
  std::string job;
  std::string task_group;
  Profile profile = Profile::kNone;
  bool use_isolated = false;  // may be given isolcpus CPUs (only then, and those first)
  CpuSet preferred;           // CPUs it had before: taken again where they still are free and fit.
                              // In a resize under kOnePerCore: those that it runs on
  bool planned = false;       // these were promised to its pod: they come before others in a
                              // narrower domain
};

inline void forget_plan(Request& request) {
  request.planned = false;
  request.preferred = {};
}

// For a request that states none, by its job, alignment and strength: bound in one NUMA node where
// it insists or belongs to a job, so that nobody who asked for nothing is refused for memory.
[[nodiscard]] MemoryPolicy usual_memory_policy(const Request& request);

enum class Reason {
  kCpus,      // not enough free CPUs in any domain of the asked alignment
  kMemory,    // CPUs would fit, the memory of their nodes is promised to others
  kIsolated,  // would fit on isolated CPUs and did not ask for them, or only on isolated and
              // ordinary ones together, which nobody gets
  kReserved,  // the reserved CPUs leave too few, whoever else holds what
  kTopology,  // this machine can never satisfy it: larger than any such domain, or an odd number of
              // hyper-threads under full-core, an unknown device, cpus < 1
  kLastShared,  // would leave no CPU for everybody else
  kAnnotation,  // it asks for what this node does not let pods ask; said by plan() alone
};
[[nodiscard]] std::string_view to_string(Reason reason);  // "cpus", "memory", ...
[[nodiscard]] std::string_view to_string(Align align);    // "l3", "numa", "socket", "none"

struct Refusal {
  Reason reason = Reason::kCpus;
  int need = 0;                // CPUs asked for
  int largest = 0;             // most CPUs that one domain of that alignment could give it now;
                               // of a resize with those that it has, and of its own domain
  Index where = kNoIndex;      // that domain's index (L3, node or package, by `align`)
  Align align = Align::kNuma;  // the widest one tried
  // The narrowest wider alignment with which it would fit now. Of a resize this and what follows
  // are those of a new container in the place of this one, which can ask for nothing else.
  std::optional<Align> fits_with;
  bool fits_split = false;   // would fit now with Smt::kPreferFull, all else as asked
  bool fits_anew = false;    // a resize: would fit now as it is asked for, but not in place
  Bytes need_memory = 0;     // with kMemory
  Bytes largest_memory = 0;  // with kMemory: most unpromised memory of a domain whose CPUs fit
  std::string text;  // one sentence for a human: what was missing and what would have fitted

  bool operator==(const Refusal&) const = default;
};

// Why this domain: the figures that the choice compared, as data.
struct Why {
  Align asked = Align::kNuma;
  Align met = Align::kNuma;  // wider than asked: `preferred` climbed
  Index domain = kNoIndex;   // L3, node or package index by `met`; kNoIndex for Align::kNone
  NodeId node = kNoIndex;   // kernel's number of the one NUMA node it lies in; kNoIndex: of several
  int domains_fitting = 0;  // how many domains could have taken it (of those with its own CPUs of
                            // before, where it got them again)
  int free_before = 0;      // free CPUs of the domain before: isolated or ordinary as it got
  int free_after = 0;
  int cores_split = 0;    // cores given out in part
  int kept = 0;           // CPUs of `preferred` that it got again
  int group_members = 0;  // other containers of its task group in the domain
  bool isolated = false;  // it got isolated CPUs

  bool operator==(const Why&) const = default;
};
// "numa 1: 4 of 12 free CPUs, best of 3 fitting; 2 of its group there"
[[nodiscard]] std::string to_string(const Why& why);

struct Decision {
  Claim claim;  // what to commit to the ledger; claim.cpus is what is held
  CpuSet cpus;  // what the container runs on; differs from claim.cpus only with kOnePerCore
  Why why;

  bool operator==(const Decision&) const = default;
};

using Outcome = std::variant<Decision, Refusal>;

// Deterministic: equal arguments give equal outcomes; every tie is broken by id. Never gives
// away a reserved CPU, one that another claim holds, an offline one, or the last CPU that is
// neither reserved nor exclusive when nothing is reserved (isolated ones do not count, where the
// machine has others). A claim already in the ledger under request.id counts as held by others: use
// resize for that.
[[nodiscard]] Outcome allocate(const Topology& topology, const Ledger& ledger,
                               const Request& request);

// The container in the ledger under request.id gets request.cpus instead of what it has: growing
// keeps every CPU it has and adds the nearest in the same domain, shrinking keeps a subset that
// leaves whole cores. The memory promise follows request.memory; the nodes it was bound to stay, as
// its pages are there. A refusal leaves it as it was. Without such a claim: as allocate.
[[nodiscard]] Outcome resize(const Topology& topology, const Ledger& ledger,
                             const Request& request);

// The requests one after another, each decided on what those before it left; one whose id holds
// something already is a resize. The ledger with all decisions committed is in `ledger`.
struct Plan {
  std::vector<Outcome> outcomes;  // by position of the request
  Ledger ledger;
};
// `forbids` says why one is refused whatever is free (Reason::kAnnotation), or nothing; null:
// never.
[[nodiscard]] Plan plan(const Topology& topology, Ledger ledger,
                        const std::vector<Request>& requests,
                        const std::function<std::string(const Request&)>& forbids = nullptr);

// The most ordinary CPUs that one request with this alignment and SMT policy could get now (0:
// none), memory aside.
[[nodiscard]] int largest(const Topology& topology, const Ledger& ledger, Align align,
                          Smt smt = Smt::kPack);

}  // namespace pinion::topology
