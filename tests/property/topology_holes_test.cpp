// What holes say against what allocate() does, on random machines.
#include "topology/holes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/property/topology_gen.h"

namespace pinion::topology {
namespace {

RC_GTEST_PROP(Holes, WhenTheyAreSureAllocateAgrees, ()) {
  const Topology machine = random_machine();
  const Ledger ledger = used(machine);
  const Request request = random_request(machine, "new");
  log(machine, ledger, request);
  const auto sure = would_grant(holes_of(machine, ledger), request);
  RC_CLASSIFY(!sure, "in doubt");
  RC_CLASSIFY(sure && *sure, "granted");
  RC_CLASSIFY(sure && !*sure, "refused");
  if (!sure) return;
  RC_ASSERT(*sure == std::holds_alternative<Decision>(allocate(machine, ledger, request)));
}

// Regular machines leave no doubt but about the last CPUs.
RC_GTEST_PROP(Holes, TheyAreSureAboutRegularMachines, ()) {
  const Topology machine = test_support::machine({.packages = 1 + pick_below(2),
                                                  .l3s_per_node = 1 + pick_below(3),
                                                  .cores_per_l3 = 1 + pick_below(6),
                                                  .threads_per_core = 1 + pick_below(2)});
  Ledger ledger(CpuSet{0});
  Request request = random_request(machine, "new");
  request.near_device.clear();
  for (int i = 0; i < 4; ++i) {
    RC_ASSERT(would_grant(holes_of(machine, ledger), request).has_value());
    const Outcome outcome =
        allocate(machine, ledger, random_request(machine, "c" + std::to_string(i)));
    if (const auto* decision = std::get_if<Decision>(&outcome)) ledger.commit(decision->claim);
  }
}

// As many as reserve_in() says fit one after another, and not one more.
RC_GTEST_PROP(Holes, TakeCountsWhatAllocateGrants, ()) {
  const Topology machine = random_machine();
  Ledger ledger = used(machine);
  Request request = random_request(machine, "new");
  request.preferred = {};
  request.task_group.clear();
  request.profile = Profile::kNone;
  log(machine, ledger, request);
  Holes holes = holes_of(machine, ledger);
  const Holes before = holes;
  const int wanted = 1 + pick_below(20);
  const int taken = reserve_in(holes, request, wanted);
  RC_ASSERT(taken <= wanted);

  int granted = 0;
  bool sure = true;
  while (granted < wanted) {
    sure = sure && would_grant(holes_of(machine, ledger), request).has_value();
    request.id = "copy-" + std::to_string(granted);
    const Outcome outcome = allocate(machine, ledger, request);
    const auto* decision = std::get_if<Decision>(&outcome);
    if (decision == nullptr) break;
    ledger.commit(decision->claim);
    ++granted;
  }
  const bool in_one_node = request.align <= Align::kNuma;
  const bool exact = sure && in_one_node && request.strength == Strength::kRequired;
  RC_CLASSIFY(exact && taken > 1, "exact, several");
  if (exact) {
    RC_ASSERT(taken == granted);
  } else if (!request.use_isolated && !before.odd) {
    RC_ASSERT(taken >= granted);
  }
}

}  // namespace
}  // namespace pinion::topology
