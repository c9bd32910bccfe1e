// Refusals: the reason, the figures, the sentence. epyc_rome_256: 8 nodes of 4 L3s of 4 cores of 2
// threads. laptop: 4 cores of CPUs 0-1, 2-3, 4-5, 6-7.
#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::facts_of;
using test_support::kGiB;
using test_support::laptop;
using test_support::machine;
using test_support::single_cpu;
using test_support::xeon_snc2;

struct Refused {
  const char* name;
  Topology machine;
  const char* reserved;
  std::vector<Placed> placed;
  Request request;
  Reason reason;
  int largest;
  const char* text;
};

// Two nodes of 8 CPUs, no hyper-threads, kernel numbers 0 and 4; one package.
Topology two_nodes() {
  auto facts = facts_of({.nodes_per_package = 2, .cores_per_l3 = 8});
  facts.memories[1].node = 4;
  for (auto& thread : facts.threads) {
    if (thread.node == 1) thread.node = 4;
  }
  return machine(facts);
}

Request isolated(Request request) {
  request.use_isolated = true;
  return request;
}

Request near(const char* device) {
  Request request = ask(1);
  request.near_device = device;
  return request;
}

std::vector<Refused> refusals() {
  const std::vector<Placed> mostly_used = {{"a", "0-4"}, {"b", "8-11"}};
  const std::vector<Placed> memory_used = {
      {"a", "0", "", Profile::kNone, {{.node = 0, .bytes = 13 * kGiB}}},
      {"b", "8", "", Profile::kNone, {{.node = 1, .bytes = 14 * kGiB + kGiB / 2}}}};
  const Topology half_isolated = machine({.cores_per_l3 = 8, .isolated = {4, 5, 6, 7}});
  return {
      {"CPUs", two_nodes(), "7", mostly_used, ask(6), Reason::kCpus, 4,
       "not enough free CPUs in any NUMA node: need 6, largest free 4 on node 4; would fit: 4 "
       "CPUs, or align socket"},
      {"CPUs in an L3", two_nodes(), "7", mostly_used, ask(6, Align::kL3), Reason::kCpus, 4,
       "not enough free CPUs in any L3 domain: need 6, largest free 4 on L3 1 of node 4; would "
       "fit: "
       "4 CPUs, or align socket"},
      {"CPUs of the machine", two_nodes(), "7", mostly_used, ask(7, Align::kNone), Reason::kCpus, 6,
       "not enough free CPUs on this machine: need 7, largest free 6; would fit: 6 CPUs"},
      {"climbed to the end", two_nodes(), "7", mostly_used, preferred(ask(7)), Reason::kCpus, 6,
       "not enough free CPUs on this machine: need 7, largest free 6; would fit: 6 CPUs"},
      {"none is free",
       laptop(),
       "0-1",
       {{"a", "2-7"}},
       ask(2),
       Reason::kCpus,
       0,
       "not enough free CPUs in any NUMA node: need 2, largest free 0"},
      {"free, but not whole cores",
       laptop(),
       "0",
       {{"a", "2"}, {"b", "4"}, {"c", "6"}},
       ask(2),
       Reason::kCpus,
       0,
       "not enough free CPUs in whole cores in any NUMA node: need 2, largest free 0; would fit: "
       "smt prefer-full"},
      {"memory", two_nodes(), "7", memory_used, with_memory(ask(2), 4 * kGiB), Reason::kMemory, 7,
       "not enough memory left in any NUMA node with 2 CPUs free: need 4 GiB, largest 3 GiB "
       "on node 0; would fit: 3 GiB, or align socket"},
      {"memory of the machine", two_nodes(), "7", memory_used,
       with_memory(ask(2, Align::kNone), 5 * kGiB), Reason::kMemory, 13,
       "not enough memory left on this machine with 2 CPUs free: need 5 GiB, largest 4.5 "
       "GiB; "
       "would fit: 4.5 GiB"},
      {"isolated",
       half_isolated,
       "0",
       {},
       ask(5),
       Reason::kIsolated,
       3,
       "not enough free CPUs in any NUMA node that are not isolated: need 5, largest free 3 on "
       "node 0; would fit: 3 CPUs"},
      {"isolated now",
       half_isolated,
       "",
       {{"a", "0-1"}},
       ask(3),
       Reason::kIsolated,
       1,
       "not enough free CPUs in any NUMA node that are not isolated: need 3, largest free 1 on "
       "node 0; would fit: 1 CPU"},
      {"isolated and too few",
       half_isolated,
       "0",
       {},
       isolated(ask(6)),
       Reason::kIsolated,
       4,
       "not enough free CPUs in any NUMA node without mixing isolated and ordinary ones: need 6, "
       "largest free 4 on node 0; would fit: 4 CPUs"},
      {"reserved",
       two_nodes(),
       "0,9",
       {},
       ask(8),
       Reason::kReserved,
       7,
       "not enough free CPUs in any NUMA node beside the reserved ones (0,9): need 8, largest free "
       "7 on node 0; would fit: 7 CPUs, or align socket"},
      {"too large for a node",
       two_nodes(),
       "0",
       {},
       ask(9),
       Reason::kTopology,
       8,
       "not enough CPUs in any NUMA node, even when all are free: need 9, largest 8; would "
       "fit: 8 CPUs, or align socket"},
      {"too large for the machine",
       two_nodes(),
       "0",
       {{"a", "8-15"}},
       ask(17, Align::kNone),
       Reason::kTopology,
       7,
       "not enough CPUs on this machine, even when all are free: need 17, largest 16; would "
       "fit: 7 CPUs"},
      {"odd number of hyper-threads",
       laptop(),
       "0-1",
       {},
       ask(3),
       Reason::kTopology,
       6,
       "3 CPUs cannot be made of whole cores of 2 CPUs each: 2 or 4 can; would fit: smt "
       "prefer-full"},
      {"more memory than a node has",
       two_nodes(),
       "0",
       {},
       with_memory(ask(2), 20 * kGiB),
       Reason::kTopology,
       8,
       "not enough memory in any NUMA node with 2 CPUs: need 20 GiB, largest 16 GiB; would fit: "
       "align socket"},
      {"no CPU",
       two_nodes(),
       "",
       {},
       ask(0),
       Reason::kTopology,
       0,
       "a container needs at least 1 CPU, not 0"},
      {"absurdly many CPUs",
       two_nodes(),
       "",
       {},
       ask(2147483647),
       Reason::kTopology,
       0,
       "more CPUs than any supported machine has: need 2147483647"},
      {"unknown device",
       two_nodes(),
       "",
       {},
       near("ib7"),
       Reason::kTopology,
       0,
       "this machine has no device 'ib7'; it has none"},
      {"the last shared CPU",
       single_cpu(),
       "",
       {},
       ask(1),
       Reason::kLastShared,
       0,
       "no CPU would be left for all other containers: need 1, largest free 0"},
      {"the last shared CPU, as things are",
       two_nodes(),
       "",
       {{"a", "0-7"}},
       ask(8),
       Reason::kLastShared,
       7,
       "no CPU would be left for all other containers: need 8, largest free 7 on node 4; would "
       "fit: "
       "7 CPUs"},
  };
}

TEST(Refusal, SaysWhatWasMissingAndWhatWouldHaveFitted) {
  for (const Refused& c : refusals()) {
    SCOPED_TRACE(c.name);
    const Outcome outcome = allocate(c.machine, ledger_of(c.reserved, c.placed), c.request);
    const auto* refusal = std::get_if<Refusal>(&outcome);
    if (refusal == nullptr) {
      ADD_FAILURE() << text_of(outcome);
      continue;
    }
    EXPECT_EQ(to_string(refusal->reason), to_string(c.reason));
    EXPECT_EQ(refusal->largest, c.largest);
    EXPECT_EQ(refusal->need, c.request.cpus);
    EXPECT_EQ(refusal->text, c.text);
  }
}

TEST(Refusal, NamesTheFirstDevicesThatThereAre) {
  Topology machine = two_nodes();
  const auto text_with = [&](std::size_t devices) {
    machine.devices.clear();
    for (std::size_t i = 0; i < devices; ++i)
      machine.devices.emplace_back().name = std::string(1, static_cast<char>('a' + i));
    return std::get<Refusal>(allocate(machine, Ledger(), near("ib7"))).text;
  };
  EXPECT_EQ(text_with(2), "this machine has no device 'ib7'; it has a, b");
  EXPECT_EQ(text_with(9),
            "this machine has no device 'ib7'; it has a, b, c, d, e, f, g, h and 1 more");
}

TEST(Refusal, FiguresAsData) {
  const Outcome outcome =
      allocate(two_nodes(), ledger_of("7", {{"a", "0-4"}, {"b", "8-11"}}), ask(6));
  const auto& refusal = std::get<Refusal>(outcome);
  EXPECT_EQ(refusal.where, 1);  // the index of node 4
  EXPECT_EQ(refusal.align, Align::kNuma);
  EXPECT_EQ(refusal.fits_with, Align::kSocket);
}

TEST(Refusal, MemoryFiguresAsData) {
  const std::vector<Placed> placed = {
      {"a", "0,48", "", Profile::kNone, {{.node = 0, .bytes = 95 * kGiB}}},
      {"b", "12,60", "", Profile::kNone, {{.node = 1, .bytes = 90 * kGiB}}},
      {"c", "24-47,72-95"}};
  const Outcome outcome =
      allocate(xeon_snc2(), ledger_of("", placed), with_memory(ask(4), 10 * kGiB));
  const auto& refusal = std::get<Refusal>(outcome);
  EXPECT_EQ(refusal.reason, Reason::kMemory);
  EXPECT_EQ(refusal.need_memory, 10 * kGiB);
  EXPECT_EQ(refusal.largest_memory, 6 * kGiB);
  EXPECT_EQ(refusal.where, 1);
  EXPECT_EQ(refusal.fits_with, Align::kNone);
}

}  // namespace
}  // namespace pinion::topology
