// In-place resize. xeon_snc2: 4 nodes of 12 cores, c and c+48 are one core, node k has cores
// 12k .. 12k+11. epyc_rome_256: 8 nodes of 4 L3s of 4 cores, c and c+128 are one core.
#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::epyc_rome_256;
using test_support::kGiB;
using test_support::laptop;
using test_support::machine;
using test_support::xeon_snc2;

struct Resized {
  const char* name;
  Topology machine;
  const char* reserved;
  std::vector<Placed> placed;  // "new" is the one that is resized
  Request request;
  const char* held;
};

std::vector<Resized> resizes() {
  Request one_per_core = ask(3, Align::kNuma, Smt::kOnePerCore);
  one_per_core.preferred = cpus("3,4");
  return {
      {"grows beside its CPUs", xeon_snc2(), "", {{"new", "14,62"}}, ask(4), "12,14,60,62"},
      {"grows in its own node though another fits better",
       xeon_snc2(),
       "",
       {{"new", "12,60"}, {"a", "0-9,48-57"}},
       ask(4),
       "12-13,60-61"},
      {"grows in its own L3 though another fits better",
       epyc_rome_256(),
       "",
       {{"new", "4,132"}, {"a", "0-2,128-130"}},
       ask(4),
       "4-5,132-133"},
      {"grows beside its node though another fits better",
       xeon_snc2(),
       "",
       {{"new", "24-35,72-83"}, {"a", "0-10,48-58"}, {"b", "12-22,60-70"}},
       ask(26, Align::kNone),
       "24-36,72-84"},
      {"grows into the best-fitting L3 of its node",
       epyc_rome_256(),
       "",
       {{"new", "4-7,132-135"}, {"a", "8-9,136-137"}},
       ask(12),
       "4-7,10-11,132-135,138-139"},
      {"grows to the nearest node when it may climb",
       xeon_snc2(),
       "",
       {{"new", "24-35,72-83"}, {"a", "0-1,48-49"}},
       preferred(ask(26)),
       "24-36,72-84"},
      {"pack: its own broken core first",
       laptop(),
       "",
       {{"new", "4"}},
       ask(2, Align::kNuma, Smt::kPack),
       "4-5"},
      {"one per core: the siblings too", laptop(), "", {{"new", "2-5"}}, one_per_core, "0-5"},
      {"shrinks to whole cores", laptop(), "", {{"new", "0-5"}}, ask(2), "0-1"},
      {"shrinks to fewer L3s",
       epyc_rome_256(),
       "",
       {{"new", "0-3,8-9,128-131,136-137"}},
       ask(8),
       "0-3,128-131"},
      {"shrinks and gives back the largest piece",
       epyc_rome_256(),
       "",
       {{"new", "0-3,8-9,128-131,136-137"}},
       ask(4),
       "8-9,136-137"},
      {"pack: gives back a whole core, keeps the shared one",
       laptop(),
       "",
       {{"new", "0-2"}, {"a", "3"}},
       ask(1, Align::kNuma, Smt::kPack),
       "2"},
      {"pack: gives back the lone CPU of a free core",
       laptop(),
       "",
       {{"new", "2-4"}},
       ask(2, Align::kNuma, Smt::kPack),
       "2-3"},
      {"the same number", xeon_snc2(), "", {{"new", "14,62"}}, ask(2), "14,62"},
      {"one of nobody is placed", xeon_snc2(), "", {}, ask(2), "0,48"},
      {"taken over with broken cores: still shrinks",
       laptop(),
       "0",
       {{"new", "1,2,4"}},
       ask(2),
       "1-2"},
  };
}

TEST(Resize, KeepsAndAdds) {
  for (const Resized& c : resizes()) {
    SCOPED_TRACE(c.name);
    const Outcome outcome = resize(c.machine, ledger_of(c.reserved, c.placed), c.request);
    const auto* decision = std::get_if<Decision>(&outcome);
    if (decision == nullptr) {
      ADD_FAILURE() << text_of(outcome);
      continue;
    }
    EXPECT_EQ(decision->claim.cpus.to_string(), c.held);
    EXPECT_EQ(decision->cpus.count(), c.request.cpus);
  }
}

TEST(Resize, OnePerCoreStaysOnTheThreadsItRunsOn) {
  Request request = ask(3, Align::kNuma, Smt::kOnePerCore);
  request.preferred = cpus("3,4");
  const Outcome outcome = resize(laptop(), ledger_of("", {{"new", "2-5"}}), request);
  EXPECT_EQ(std::get<Decision>(outcome).cpus.to_string(), "0,3-4");
}

struct Stuck {
  const char* name;
  Topology machine;
  const char* reserved;
  std::vector<Placed> placed;
  Request request;
  Reason reason;
  const char* text;
};

TEST(Resize, RefusesWhatDoesNotFitBesideIt) {
  const Topology isolated = machine({.cores_per_l3 = 4, .isolated = {2, 3}});
  const std::vector<Stuck> cases = {
      {"its node is full, others are not",
       xeon_snc2(),
       "",
       {{"new", "0,48"}, {"a", "1-11,49-59"}},
       ask(4),
       Reason::kCpus,
       "not enough free CPUs in whole cores in its NUMA node: need 4, at most 2 with its own on "
       "node 0; would fit: a new pod"},
      {"larger than its node",
       xeon_snc2(),
       "",
       {{"new", "0,48"}},
       ask(26),
       Reason::kTopology,
       "not enough CPUs in its NUMA node, even when all are free: need 26, largest 24; would fit: "
       "24 CPUs, or a new pod with align socket"},
      {"an odd number",
       laptop(),
       "",
       {{"new", "0-1"}},
       ask(3),
       Reason::kTopology,
       "3 CPUs cannot be made of whole cores of 2 CPUs each: 2 or 4 can; would fit: a new pod with "
       "smt prefer-full"},
      {"shrinking to an odd number",
       laptop(),
       "",
       {{"new", "0-3"}},
       ask(3),
       Reason::kTopology,
       "3 CPUs cannot be made of whole cores of 2 CPUs each: 2 or 4 can; would fit: a new pod with "
       "smt prefer-full"},
      {"reserved CPUs are in the way",
       laptop(),
       "6-7",
       {{"new", "0-1"}},
       ask(8),
       Reason::kReserved,
       "not enough free CPUs in its NUMA node beside the reserved ones (6-7): need 8, at most 6 "
       "with its own on node 0; would fit: 6 CPUs"},
      {"the last shared CPU",
       laptop(),
       "",
       {{"new", "0-1"}},
       ask(8),
       Reason::kLastShared,
       "no CPU would be left for all other containers: need 8, at most 6 with its own on node 0; "
       "would fit: 6 CPUs"},
      {"isolated CPUs are in the way",
       isolated,
       "",
       {{"new", "0"}},
       ask(3),
       Reason::kIsolated,
       "not enough free CPUs in its NUMA node that are not isolated: need 3, at most 1 with its "
       "own on node 0"},
      {"it is on isolated CPUs and no longer asks for them",
       isolated,
       "",
       {{"new", "2"}},
       ask(2),
       Reason::kIsolated,
       "not enough free CPUs in its NUMA node that are not isolated: need 2, at most 1 with its "
       "own on node 0"},
      {"it would fit elsewhere, not beside what was taken over",
       laptop(),
       "0",
       {{"new", "2"}, {"a", "4"}},
       ask(4),
       Reason::kCpus,
       "not enough free CPUs in whole cores in its NUMA node: need 4, at most 3 with its own on "
       "node 0; would fit: 3 CPUs, or a new pod"},
      {"memory",
       xeon_snc2(),
       "",
       {{"new", "0,48", "", Profile::kNone, {{.node = 0, .bytes = kGiB}}},
        {"a", "1,49", "", Profile::kNone, {{.node = 0, .bytes = 90 * kGiB}}}},
       with_memory(ask(4), 8 * kGiB),
       Reason::kMemory,
       "not enough memory left in its NUMA node with 4 CPUs free: need 8 GiB, largest 6 GiB "
       "on node 0; would fit: 6 GiB, or a new pod"},
  };
  for (const Stuck& c : cases) {
    SCOPED_TRACE(c.name);
    const Outcome outcome = resize(c.machine, ledger_of(c.reserved, c.placed), c.request);
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (refusal == nullptr) {
      ADD_FAILURE() << text_of(outcome);
      continue;
    }
    EXPECT_EQ(to_string(refusal->reason), to_string(c.reason)) << refusal->text;
    EXPECT_EQ(refusal->text, c.text);
  }
}

TEST(Resize, MemoryFollowsTheLimit) {
  const Ledger ledger =
      ledger_of("", {{"new", "0,48", "", Profile::kNone, {{.node = 0, .bytes = 40 * kGiB}}},
                     {"a", "1,49", "", Profile::kNone, {{.node = 0, .bytes = 50 * kGiB}}}});
  const Outcome grown = resize(xeon_snc2(), ledger, with_memory(ask(2), 46 * kGiB));
  ASSERT_TRUE(std::holds_alternative<Decision>(grown)) << text_of(grown);
  EXPECT_EQ(std::get<Decision>(grown).claim.memory,
            (std::vector<Claim::Share>{{.node = 0, .bytes = 46 * kGiB}}));
  const Outcome shrunk = resize(xeon_snc2(), ledger, with_memory(ask(2), kGiB));
  EXPECT_EQ(std::get<Decision>(shrunk).claim.memory,
            (std::vector<Claim::Share>{{.node = 0, .bytes = kGiB}}));
  const Outcome refused = resize(xeon_snc2(), ledger, with_memory(ask(2), 47 * kGiB));
  EXPECT_TRUE(std::holds_alternative<Refusal>(refused)) << text_of(refused);
}

TEST(Resize, KeepsWhatWasPromisedBeyondTheNodesMemory) {
  const Ledger ledger =
      ledger_of("", {{"new", "0-1,48-49", "", Profile::kNone, {{.node = 0, .bytes = 120 * kGiB}}}});
  const Outcome outcome = resize(xeon_snc2(), ledger, with_memory(ask(2), 110 * kGiB));
  ASSERT_TRUE(std::holds_alternative<Decision>(outcome)) << text_of(outcome);
}

}  // namespace
}  // namespace pinion::topology
