// Who holds which CPUs and which memory: the state that allocation decides on. A value: copy it to
// try something, keep the copy to commit it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/topology.h"

namespace pinion::topology {

// What a job mostly needs; written by the extender. Memory-bound ranks are spread over memory
// controllers, all others sit close to their group.
enum class Profile { kNone, kCpu, kMemory, kNetwork };

// CPUs (and memory) held by one container.
struct Claim {
  struct Share {
    Index node = kNoIndex;  // its index
    Bytes bytes = 0;

    bool operator==(const Share&) const = default;
  };
  std::string id;  // container
  CpuSet cpus;     // never empty
  NodeSet mems;    // nodes its memory is bound to, kernel numbers; empty: any
  // Bytes promised to it, ascending by node; of one that is not bound, those that it is expected to
  // use. Empty without a limit.
  std::vector<Share> memory;
  std::string job;
  std::string task_group;
  Profile profile = Profile::kNone;

  bool operator==(const Claim&) const = default;
};

class Ledger {
 public:
  Ledger() = default;
  // `reserved` CPUs are never given away. `strict`: they are for the system alone, so containers
  // without CPUs of their own need others.
  explicit Ledger(CpuSet reserved, bool strict = false)
      : reserved_(std::move(reserved)), strict_(strict) {}

  [[nodiscard]] const CpuSet& reserved() const { return reserved_; }
  [[nodiscard]] bool strict() const { return strict_; }
  [[nodiscard]] const CpuSet& exclusive() const { return exclusive_; }  // union of all claims
  [[nodiscard]] const std::map<std::string, Claim, std::less<>>& claims() const { return claims_; }
  [[nodiscard]] const Claim* find(std::string_view id) const;
  // Bytes of the node's memory in all claims.
  [[nodiscard]] Bytes promised(Index node) const;
  // Bytes that containers without CPUs of their own request, of whatever nodes: of each as much as
  // its part of the machine's memory is set aside for them (memory.h).
  [[nodiscard]] Bytes shared_memory() const { return shared_memory_; }
  void set_shared_memory(Bytes bytes) { shared_memory_ = bytes; }

  // Takes the claim in; one with the same id is replaced (a resize).
  // Precondition, checked (the process stops): its CPUs are not empty, disjoint from every other
  // claim and from reserved.
  void commit(Claim claim);
  // Gives everything of the container back. False: it held nothing.
  bool release(std::string_view id);

  bool operator==(const Ledger&) const = default;

 private:
  CpuSet reserved_;
  bool strict_ = false;
  CpuSet exclusive_;
  std::map<std::string, Claim, std::less<>> claims_;
  std::vector<Bytes> promised_;  // by node index, grown on demand
  Bytes shared_memory_ = 0;
};

}  // namespace pinion::topology
