// Which cores inside the domain: hyper-threads, L3 domains, isolated CPUs, those it had before.
// xeon_snc2: 4 nodes of 12 cores, one L3 each; CPU c and c+48 are one core; node k has cores
// 12k .. 12k+11. epyc_rome_256: 8 nodes of 4 L3s of 4 cores; c and c+128 are one core; L3 k has
// cores 4k .. 4k+3. laptop: 4 cores of CPUs 0-1, 2-3, 4-5, 6-7.
#include "tests/unit/topology/scene.h"
#include "topology/adopt.h"

namespace pinion::topology {
namespace {

using test_support::epyc_rome_256;
using test_support::laptop;
using test_support::machine;
using test_support::two_core_vm;
using test_support::xeon_snc2;

TEST(Allocate, HyperThreads) {
  check({
      {"whole cores", laptop(), "0", {}, ask(4), "2-5", "0"},
      {"the lowest cores", laptop(), "", {}, ask(2), "0-1", "0"},
      {"a broken core is no whole core", laptop(), "0", {{"a", "2"}}, ask(2), "4-5", "0"},
      {"siblings far apart", xeon_snc2(), "", {}, ask(4), "0-1,48-49", "0"},
      {"one per core", laptop(), "0", {}, ask(3, Align::kNuma, Smt::kOnePerCore), "2,4,6", "0"},
      {"one per core passes over broken cores",
       laptop(),
       "0",
       {{"a", "5"}},
       ask(2, Align::kNuma, Smt::kOnePerCore),
       "2,6",
       "0"},
      {"pack fills the broken core first",
       laptop(),
       "0",
       {{"a", "4"}},
       ask(1, Align::kNuma, Smt::kPack),
       "1",
       "0"},
      {"pack fills broken cores, then a whole one",
       laptop(),
       "0",
       {{"a", "4"}},
       ask(4, Align::kNuma, Smt::kPack),
       "1-3,5",
       "0"},
      {"a single CPU is half of a core",
       laptop(),
       "",
       {},
       ask(1, Align::kNuma, Smt::kPreferFull),
       "0",
       "0"},
      {"on a core that is split already",
       laptop(),
       "0",
       {{"a", "4"}},
       ask(1, Align::kNuma, Smt::kPreferFull),
       "1",
       "0"},
      {"whole cores though halves are free",
       laptop(),
       "0",
       {{"a", "4"}},
       ask(2, Align::kNuma, Smt::kPreferFull),
       "2-3",
       "0"},
      {"whole cores, the odd rest on a split one",
       laptop(),
       "",
       {{"a", "5"}},
       ask(5, Align::kNuma, Smt::kPreferFull),
       "0-4",
       "0"},
      {"the odd rest on a fresh core where none is split",
       laptop(),
       "",
       {},
       ask(3, Align::kNuma, Smt::kPreferFull),
       "0-2",
       "0"},
      {"halves where no core is whole",
       laptop(),
       "",
       {{"a", "0,2,4,6"}},
       ask(3, Align::kNuma, Smt::kPreferFull),
       "1,3,5",
       "0"},
      {"a whole core of another L3 domain before two halves of one",
       epyc_rome_256(),
       "",
       {{"a", "0-1"}, {"b", "2-3,4-15,130-143"}},
       ask(2, Align::kSocket, Smt::kPreferFull),
       "16,144",
       "1"},
      {"pack splits one core only", laptop(), "", {}, ask(3, Align::kNuma, Smt::kPack), "0-2", "0"},
      {"no hyper-threads", two_core_vm(), "0", {}, ask(1), "1", "0"},
  });
}

TEST(Allocate, OnePerCoreHoldsTheSiblings) {
  const Outcome outcome =
      allocate(laptop(), ledger_of("0", {}), ask(2, Align::kNuma, Smt::kOnePerCore));
  const auto& decision = std::get<Decision>(outcome);
  EXPECT_EQ(decision.cpus.to_string(), "2,4");
  EXPECT_EQ(decision.claim.cpus.to_string(), "2-5");
  EXPECT_EQ(decision.why.free_before, 7);
  EXPECT_EQ(decision.why.free_after, 3);
}

TEST(Allocate, L3Domains) {
  check({
      {"one L3 where one does", epyc_rome_256(), "", {}, ask(8), "0-3,128-131", "0"},
      {"the L3 with the smallest hole",
       epyc_rome_256(),
       "",
       {{"a", "0-1,128-129"}},
       ask(4),
       "2-3,130-131",
       "0"},
      {"the L3 that is used up exactly",
       epyc_rome_256(),
       "",
       {{"a", "0,128"}, {"b", "4-5,132-133"}},
       ask(4),
       "6-7,134-135",
       "0"},
      {"an untouched L3 stays whole", epyc_rome_256(), "", {{"a", "4,132"}}, ask(2), "5,133", "0"},
      {"two L3s where it must", epyc_rome_256(), "", {}, ask(12), "0-5,128-133", "0"},
      {"the rest goes to the best-fitting L3",
       epyc_rome_256(),
       "",
       {{"a", "8-9,136-137"}},
       ask(12),
       "0-3,10-11,128-131,138-139",
       "0"},
      {"the fullest L3s first when none does",
       epyc_rome_256(),
       "",
       {{"a", "0-2,128-130"}, {"b", "4,132"}},
       ask(16),
       "8-15,136-143",
       "0"},
      {"align l3",
       epyc_rome_256(),
       "",
       {{"a", "16-18,144-146"}},
       ask(2, Align::kL3),
       "19,147",
       "1"},
      {"across nodes it lies in whole L3s of one package",
       epyc_rome_256(),
       "",
       {},
       ask(40, Align::kSocket),
       "0-19,128-147",
       "0-1"},
  });
}

TEST(Allocate, IsolatedCpus) {
  const Topology isolated = machine({.packages = 2, .cores_per_l3 = 4, .isolated = {2, 3, 6}});
  Request wish = ask(2);
  wish.use_isolated = true;
  Request large = ask(3);
  large.use_isolated = true;
  check({
      {"not without asking", isolated, "0", {}, ask(2), "4-5", "1"},
      {"first when asked", isolated, "0", {}, wish, "2-3", "0"},
      {"ordinary ones when too few", isolated, "", {{"a", "2"}}, wish, "0-1", "0"},
      {"never mixed", isolated, "", {}, large, "4-5,7", "1"},
  });
}

TEST(Allocate, WhatItHadBefore) {
  Request again = ask(4);
  again.preferred = cpus("2-3,50-51");
  Request some = ask(4);
  some.preferred = cpus("2,5,50,53");
  Request half = ask(4);
  half.preferred = cpus("12,60");
  Request fewer = ask(2);
  fewer.preferred = cpus("30-33,78-81");
  Request one = ask(2, Align::kNuma, Smt::kOnePerCore);
  one.preferred = cpus("5,54");
  Request isolated = ask(2);
  isolated.preferred = cpus("1,49");
  Request wide = ask(4);
  wide.preferred = cpus("11-12,59-60");
  wide.strength = Strength::kPreferred;
  Request planned = wide;
  planned.planned = true;
  Request narrow = planned;
  narrow.strength = Strength::kRequired;
  check({
      {"not in two nodes where one has room", xeon_snc2(), "0", {}, wide, "1,11,49,59", "0"},
      {"in two, where it was planned there", xeon_snc2(), "0", {}, planned, "11-12,59-60", "0-1"},
      {"but not if it insists on one", xeon_snc2(), "0", {}, narrow, "1,11,49,59", "0"},
      {"again", xeon_snc2(), "0", {}, again, "2-3,50-51", "0"},
      {"against the best fit", xeon_snc2(), "0", {{"a", "12-21,60-69"}}, again, "2-3,50-51", "0"},
      {"the rest of it when one core is taken",
       xeon_snc2(),
       "0",
       {{"a", "2,50"}},
       some,
       "1,5,49,53",
       "0"},
      {"the node where most of it was", xeon_snc2(), "0", {}, half, "12-13,60-61", "1"},
      {"a part of it when less is asked", xeon_snc2(), "0", {}, fewer, "30,78", "2"},
      {"one per core: the threads it ran on", xeon_snc2(), "0", {}, one, "5,54", "0"},
      {"not when they are isolated now",
       machine({.cores_per_l3 = 48, .threads_per_core = 2, .isolated = {1, 49}}),
       "",
       {},
       isolated,
       "0,48",
       "0"},
  });
}

TEST(Allocate, TheDecisionSaysWhy) {
  const Ledger ledger = ledger_of("0,48", {{"a", "12-13,60-61", "g"}, {"b", "24-29,72-77"}});
  const Outcome outcome = allocate(xeon_snc2(), ledger, with_group(ask(4), "g"));
  const auto& decision = std::get<Decision>(outcome);
  const Why want = {.asked = Align::kNuma,
                    .met = Align::kNuma,
                    .domain = 1,
                    .node = 1,
                    .domains_fitting = 4,
                    .free_before = 20,
                    .free_after = 16,
                    .cores_split = 0,
                    .kept = 0,
                    .group_members = 1,
                    .isolated = false};
  EXPECT_EQ(decision.why, want);
  EXPECT_EQ(to_string(decision.why),
            "numa 1: 4 of 20 free CPUs, best of 4 fitting; 1 of its group there");
  EXPECT_EQ(decision.claim.id, "new");
  EXPECT_EQ(decision.claim.task_group, "g");
  EXPECT_EQ(decision.claim.job, "j");
  Request again = ask(2);
  again.preferred = CpuSet::parse("14,62").value();
  EXPECT_EQ(to_string(std::get<Decision>(allocate(xeon_snc2(), ledger, again)).why),
            "numa 1: 2 of 20 free CPUs, best of 1 fitting; 2 as planned or before");
}

TEST(Adopt, TheDecisionSaysWhereItIs) {
  struct Case {
    const char* name;
    Topology machine;
    const char* cpus;
    Align align;
    const char* why;
  };
  for (const Case& c : {
           Case{"a node", xeon_snc2(), "14,62", Align::kNuma, "numa 1: 2 CPUs that it had before"},
           Case{"one CPU of an L3", epyc_rome_256(), "20", Align::kL3,
                "l3 5 of node 1: 1 CPU that it had before"},
           Case{"wider than asked", xeon_snc2(), "0-47", Align::kNuma,
                "whole machine (numa asked): 48 CPUs that it had before"},
       }) {
    SCOPED_TRACE(c.name);
    const CpuSet cpus = CpuSet::parse(c.cpus).value();
    const Outcome outcome = adopt(c.machine, ledger_of("", {}), ask(cpus.count(), c.align), cpus);
    ASSERT_TRUE(std::holds_alternative<Decision>(outcome));
    EXPECT_EQ(to_string(std::get<Decision>(outcome).why), c.why);
  }
}

}  // namespace
}  // namespace pinion::topology
