// Memory: bound limits are promised and not promised twice. xeon_snc2: 4 nodes of 96 GiB.
#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::facts_of;
using test_support::kGiB;
using test_support::machine;
using test_support::mixed_nodes;
using test_support::xeon_snc2;

using Shares = std::vector<Claim::Share>;

Placed holder(const char* id, const char* cpus, Shares memory) {
  return {
      .id = id, .cpus = cpus, .group = "", .profile = Profile::kNone, .memory = std::move(memory)};
}

TEST(Memory, WhereItDecides) {
  const std::vector<Placed> node_0_full = {holder("a", "0,48", {{.node = 0, .bytes = 90 * kGiB}})};
  check({
      {"no limit: no promise needed", xeon_snc2(), "", node_0_full, ask(2), "1,49", "0"},
      {"bound: the node must cover it", xeon_snc2(), "", node_0_full, with_memory(ask(2), 8 * kGiB),
       "12,60", "1"},
      {"bound: to the last byte", xeon_snc2(), "", node_0_full, with_memory(ask(2), 6 * kGiB),
       "1,49", "0"},
      {"preferred: ranks only, mems stay open", xeon_snc2(), "", node_0_full,
       with_memory(ask(2), 8 * kGiB, MemoryPolicy::kPreferred), "12,60", ""},
      {"preferred: taken even where no node covers it", xeon_snc2(), "", node_0_full,
       with_memory(ask(2), 200 * kGiB, MemoryPolicy::kPreferred), "1,49", ""},
      {"any: plays no part", xeon_snc2(), "", node_0_full,
       with_memory(ask(2), 8 * kGiB, MemoryPolicy::kAny), "1,49", ""},
      {"socket: a single node that covers it", xeon_snc2(), "", node_0_full,
       with_memory(ask(2, Align::kSocket), 96 * kGiB), "12,60", "1"},
      {"socket: a second node lends",
       xeon_snc2(),
       "",
       {},
       with_memory(ask(2, Align::kSocket), 100 * kGiB),
       "0,48",
       "0-1"},
      {"a node without memory borrows from the nearest",
       mixed_nodes(),
       "",
       {},
       with_memory(ask(8), kGiB),
       "0-7",
       "1"},
  });
}

struct Promise {
  const char* name;
  Request request;
  std::vector<Placed> placed;
  Shares want;
};

TEST(Memory, WhatIsPromised) {
  const std::vector<Promise> cases = {
      {"one node", with_memory(ask(2), 8 * kGiB), {}, {{.node = 0, .bytes = 8 * kGiB}}},
      {"no limit", ask(2), {}, {}},
      {"preferred: of the node of its CPUs",
       with_memory(ask(2), kGiB, MemoryPolicy::kPreferred),
       {},
       {{.node = 0, .bytes = kGiB}}},
      {"any: the same",
       with_memory(ask(2), kGiB, MemoryPolicy::kAny),
       {},
       {{.node = 0, .bytes = kGiB}}},
      {"not bound, on two nodes: by its CPUs there",
       with_memory(ask(36, Align::kSocket), 36 * kGiB, MemoryPolicy::kPreferred),
       {},
       {{.node = 0, .bytes = 24 * kGiB}, {.node = 1, .bytes = 12 * kGiB}}},
      {"not bound: what its node has not left on the nearest one",
       with_memory(ask(2), 8 * kGiB, MemoryPolicy::kAny),
       {holder("a", "0,48", {{.node = 0, .bytes = 90 * kGiB}})},
       {{.node = 0, .bytes = 6 * kGiB}, {.node = 1, .bytes = 2 * kGiB}}},
      {"not bound: more than there is",
       with_memory(ask(2), 400 * kGiB, MemoryPolicy::kAny),
       {},
       {{.node = 0, .bytes = 96 * kGiB},
        {.node = 1, .bytes = 96 * kGiB},
        {.node = 2, .bytes = 96 * kGiB},
        {.node = 3, .bytes = 96 * kGiB}}},
      {"the node of its CPUs first, then its neighbour",
       with_memory(ask(2, Align::kNone), 100 * kGiB),
       {},
       {{.node = 0, .bytes = 96 * kGiB}, {.node = 1, .bytes = 4 * kGiB}}},
      {"of its own nodes the one with most left first",
       with_memory(ask(30, Align::kSocket), 100 * kGiB),
       {holder("a", "24-47,72-95", {{.node = 0, .bytes = 10 * kGiB}})},
       {{.node = 0, .bytes = 4 * kGiB}, {.node = 1, .bytes = 96 * kGiB}}},
  };
  for (const Promise& c : cases) {
    SCOPED_TRACE(c.name);
    const Outcome outcome = allocate(xeon_snc2(), ledger_of("", c.placed), c.request);
    const auto* decision = std::get_if<Decision>(&outcome);
    ASSERT_NE(decision, nullptr) << text_of(outcome);
    EXPECT_EQ(decision->claim.memory, c.want);
  }
}

TEST(Memory, WhatOneThatIsNotBoundUsesIsKeptFromBoundOnes) {
  const Topology xeon = xeon_snc2();
  Ledger ledger;
  const Outcome first =
      allocate(xeon, ledger, with_memory(ask(2), 90 * kGiB, MemoryPolicy::kPreferred));
  ledger.commit(std::get<Decision>(first).claim);
  Request bound = with_memory(ask(2), 8 * kGiB);
  bound.id = "bound";
  bound.near_nodes.add(0);
  EXPECT_EQ(std::get<Decision>(allocate(xeon, ledger, bound)).claim.mems, NodeSet{1});
  bound.memory = 6 * kGiB;
  EXPECT_EQ(std::get<Decision>(allocate(xeon, ledger, bound)).claim.mems, NodeSet{0});
}

struct SharedCase {
  const char* name;
  Bytes shared;
  Shares promised;  // to others, of node 0
  Bytes largest;    // that a container with CPUs of node 0 can be bound with
};

TEST(Memory, SharedContainersHaveTheirPartOfEachNode) {
  const Topology xeon = xeon_snc2();
  for (const SharedCase& c : {
           SharedCase{"none", 0, {}, 96 * kGiB},
           SharedCase{"a quarter of it from each node", 8 * kGiB, {}, 94 * kGiB},
           SharedCase{
               "beside what is promised", 8 * kGiB, {{.node = 0, .bytes = 90 * kGiB}}, 4 * kGiB},
           SharedCase{"more than is left", 40 * kGiB, {{.node = 0, .bytes = 90 * kGiB}}, 0},
           SharedCase{"more than there is", 4000 * kGiB, {}, 0},
       }) {
    SCOPED_TRACE(c.name);
    Ledger ledger;
    if (!c.promised.empty()) ledger = ledger_of("", {holder("a", "0,48", c.promised)});
    ledger.set_shared_memory(c.shared);
    Request request = with_memory(ask(2), c.largest);
    request.near_nodes.add(0);
    if (c.largest > 0) {
      const Outcome outcome = allocate(xeon, ledger, request);
      const auto* decision = std::get_if<Decision>(&outcome);
      ASSERT_NE(decision, nullptr) << text_of(outcome);
      EXPECT_EQ(decision->claim.mems, NodeSet{0});
    }
    request.memory = c.largest + 1;
    const Outcome more = allocate(xeon, ledger, request);
    const auto* decision = std::get_if<Decision>(&more);
    EXPECT_TRUE(decision == nullptr || decision->claim.mems != NodeSet{0}) << text_of(more);
  }
}

TEST(Memory, AContainerKeepsWhatItWasPromisedWhenSharedOnesCome) {
  const Topology xeon = xeon_snc2();
  Ledger ledger = ledger_of("", {holder("a", "0,48", {{.node = 0, .bytes = 90 * kGiB}})});
  ledger.set_shared_memory(96 * kGiB);
  Request request = with_memory(ask(2), 90 * kGiB);
  request.id = "a";
  request.preferred = ledger.find("a")->cpus;
  ASSERT_TRUE(std::holds_alternative<Decision>(resize(xeon, ledger, request)));
  request.memory += kGiB;
  EXPECT_TRUE(std::holds_alternative<Refusal>(resize(xeon, ledger, request)));
}

TEST(Memory, AMachineThatStatesNoneIsNoObstacle) {
  auto facts = facts_of({.cores_per_l3 = 4});
  facts.memories[0].bytes = 0;
  const Outcome outcome = allocate(machine(facts), Ledger(), with_memory(ask(2), kGiB));
  const auto* decision = std::get_if<Decision>(&outcome);
  ASSERT_NE(decision, nullptr) << text_of(outcome);
  EXPECT_TRUE(decision->claim.mems.empty());
  EXPECT_TRUE(decision->claim.memory.empty());
}

TEST(Memory, IsFreeAgainAfterRelease) {
  const Topology xeon = xeon_snc2();
  const Request request = with_memory(ask(2), 96 * kGiB);
  Ledger ledger;
  for (int i = 0; i < 4; ++i) {
    Request next = request;
    next.id = "c" + std::to_string(i);
    const Outcome outcome = allocate(xeon, ledger, next);
    ASSERT_TRUE(std::holds_alternative<Decision>(outcome)) << text_of(outcome);
    ledger.commit(std::get<Decision>(outcome).claim);
  }
  ASSERT_TRUE(std::holds_alternative<Refusal>(allocate(xeon, ledger, request)));
  ledger.release("c2");
  const Outcome outcome = allocate(xeon, ledger, request);
  ASSERT_TRUE(std::holds_alternative<Decision>(outcome)) << text_of(outcome);
  EXPECT_EQ(std::get<Decision>(outcome).claim.mems, NodeSet{2});
}

}  // namespace
}  // namespace pinion::topology
