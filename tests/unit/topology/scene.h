// A table row of the allocator's tests: a machine, who is on it, what is asked, what comes out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/machine.h"
#include "topology/allocate.h"

namespace pinion::topology {

struct Placed {
  const char* id;
  const char* cpus;
  const char* group = "";  // its task group, of job "j"
  Profile profile = Profile::kNone;
  std::vector<Claim::Share> memory{};
};

struct Case {
  const char* name;
  Topology machine;
  const char* reserved;
  std::vector<Placed> placed;
  Request request;
  const char* cpus;  // what it runs on
  const char* mems;
};

inline CpuSet cpus(const std::string& list) {
  return CpuSet::parse(list).value();
}

inline Ledger ledger_of(const std::string& reserved, const std::vector<Placed>& placed) {
  Ledger ledger(cpus(reserved));
  for (const Placed& p : placed) {
    Claim claim;
    claim.id = p.id;
    claim.cpus = cpus(p.cpus);
    claim.task_group = p.group;
    if (!claim.task_group.empty()) claim.job = "j";
    claim.profile = p.profile;
    claim.memory = p.memory;
    ledger.commit(claim);
  }
  return ledger;
}

// Defaults of the tests: container "new", required, numa, whole cores, bound without a limit.
inline Request ask(int n, Align align = Align::kNuma, Smt smt = Smt::kFullCore) {
  Request request;
  request.id = "new";
  request.cpus = n;
  request.align = align;
  request.smt = smt;
  return request;
}

inline Request preferred(Request request) {
  request.strength = Strength::kPreferred;
  return request;
}

inline Request with_group(Request request, const std::string& group) {
  request.task_group = group;
  request.job = "j";
  return request;
}

inline Request with_memory(Request request, Bytes bytes,
                           MemoryPolicy policy = MemoryPolicy::kBind) {
  request.memory = bytes;
  request.memory_policy = policy;
  return request;
}

inline std::string text_of(const Outcome& outcome) {
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) return "refused: " + refusal->text;
  const auto& decision = std::get<Decision>(outcome);
  return decision.cpus.to_string() + " because " + to_string(decision.why);
}

inline void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Outcome outcome = allocate(c.machine, ledger_of(c.reserved, c.placed), c.request);
    const auto* decision = std::get_if<Decision>(&outcome);
    if (decision == nullptr) {
      ADD_FAILURE() << text_of(outcome);
      continue;
    }
    EXPECT_EQ(decision->cpus.to_string(), c.cpus) << text_of(outcome);
    EXPECT_EQ(decision->claim.mems.to_string(), c.mems) << text_of(outcome);
  }
}

}  // namespace pinion::topology
