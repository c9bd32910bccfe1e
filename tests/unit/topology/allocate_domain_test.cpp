// Which domain. xeon_snc2: 2 packages of 2 nodes of 12 cores (c and c+48 are one core); node k has
// cores 12k .. 12k+11; distances 10, 12 in the package, 32 across.
#include "tests/unit/topology/scene.h"

namespace pinion::topology {
namespace {

using test_support::epyc_rome_256;
using test_support::facts_of;
using test_support::machine;
using test_support::MachineSpec;
using test_support::xeon_snc2;

Request required(Request request) {
  request.strength = Strength::kRequired;
  return request;
}

TEST(Domain, BestFit) {
  check({
      {"equal nodes: the lowest", xeon_snc2(), "", {}, ask(4), "0-1,48-49", "0"},
      {"the node with least left over",
       xeon_snc2(),
       "",
       {{"a", "24-27,72-75"}},
       ask(4),
       "28-29,76-77",
       "2"},
      {"exactly used up is best",
       xeon_snc2(),
       "",
       {{"a", "12-15,60-63"}, {"b", "24-31,72-79"}},
       ask(8),
       "32-35,80-83",
       "2"},
      {"too small a hole does not count",
       xeon_snc2(),
       "",
       {{"a", "0-10,48-58"}},
       ask(4),
       "12-13,60-61",
       "1"},
      {"pack: not where a whole core must be split",
       xeon_snc2(),
       "",
       {{"a", "0-10,48-58"}, {"b", "12"}},
       ask(1, Align::kNuma, Smt::kPack),
       "60",
       "1"},
      {"equal holes: where no untouched L3 is broken up",
       epyc_rome_256(),
       "",
       {{"a", "0-3,128-131"}, {"b", "16-17,20-21,144-145,148-149"}, {"c", "32-127,160-255"}},
       ask(4),
       "18-19,146-147",
       "1"},
      {"sockets",
       xeon_snc2(),
       "",
       {{"a", "24-26,72-74"}},
       ask(26, Align::kSocket),
       "27,36-47,75,84-95",
       "2-3"},
      {"the whole machine",
       xeon_snc2(),
       "0,48",
       {},
       ask(60, Align::kNone),
       "1-6,24-47,49-54,72-95",
       "0,2-3"},
  });
}

TEST(Domain, NearTheDevice) {
  MachineSpec spec = {.packages = 2, .nodes_per_package = 2, .cores_per_l3 = 2};
  spec.devices = {{.kind = DeviceKind::kNetwork, .name = "ib0", .pci = "0000:81:00.0", .node = 3},
                  {.kind = DeviceKind::kGpu, .name = "card0", .pci = "", .node = -1}};
  Request by_name = ask(1);
  by_name.near_device = "ib0";
  Request by_address = ask(2);
  by_address.near_device = "0000:81:00.0";
  Request nowhere = ask(1);
  nowhere.near_device = "card0";
  check({
      {"its node", machine(spec), "", {}, by_name, "6", "3"},
      {"its node by PCI address", machine(spec), "", {}, by_address, "6-7", "3"},
      {"the nearest when that is full", machine(spec), "", {{"a", "6"}}, by_address, "4-5", "2"},
      {"before the group",
       machine(spec),
       "",
       {{"a", "0", "g"}},
       with_group(by_name, "g"),
       "6",
       "3"},
      {"a device of which the machine knows no node",
       machine(spec),
       "",
       {{"a", "2"}},
       nowhere,
       "3",
       "1"},
  });
}

TEST(Domain, NearTheDevicesThatItHas) {
  MachineSpec spec = {.packages = 2, .nodes_per_package = 2, .cores_per_l3 = 2};
  spec.devices = {{.kind = DeviceKind::kNetwork, .name = "ib0", .pci = "", .node = 2},
                  {.kind = DeviceKind::kGpu, .name = "card0", .pci = "", .node = -1}};
  const auto near = [](int cpus, std::initializer_list<int> nodes, const char* device = "") {
    Request request = ask(cpus);
    for (const int node : nodes) request.near_nodes.add(node);
    request.near_device = device;
    return request;
  };
  check({
      {"its node", machine(spec), "", {}, near(1, {3}), "6", "3"},
      {"the nearest when that is full", machine(spec), "", {{"a", "6-7"}}, near(1, {3}), "4", "2"},
      {"of two nodes the lower", machine(spec), "", {}, near(1, {1, 2}), "2", "1"},
      {"near two rather than one", machine(spec), "", {}, near(1, {0, 2, 3}), "4", "2"},
      {"a node that is none", machine(spec), "", {}, near(1, {9}), "0", "0"},
      {"before the group",
       machine(spec),
       "",
       {{"a", "0", "g"}},
       with_group(near(1, {3}), "g"),
       "6",
       "3"},
      {"the device that it names comes first",
       machine(spec),
       "",
       {},
       near(1, {0}, "ib0"),
       "4",
       "2"},
      {"a named one without a node says nothing",
       machine(spec),
       "",
       {},
       near(1, {3}, "card0"),
       "6",
       "3"},
      {"one of several nodes, where it fits in none alone",
       machine(spec),
       "",
       {},
       [&] {
         Request wide = near(3, {3});
         wide.align = Align::kSocket;
         return wide;
       }(),
       "4,6-7",
       "2-3"},
  });
}

TEST(Domain, NearTheDeviceThatHasNoMemoryLeft) {
  MachineSpec spec = {.packages = 2, .nodes_per_package = 2, .cores_per_l3 = 2};
  spec.devices = {{.kind = DeviceKind::kNetwork, .name = "ib0", .pci = "", .node = 3}};
  Request request = with_memory(ask(1), test_support::kGiB);
  request.near_device = "ib0";
  const Placed holder = {.id = "a",
                         .cpus = "6",
                         .group = "",
                         .profile = Profile::kNone,
                         .memory = {{.node = 3, .bytes = 16 * test_support::kGiB}}};
  check({{"the nearest that covers the limit", machine(spec), "", {holder}, request, "4", "2"}});
}

TEST(Domain, WhatOneNodeCannotHoldLiesInNearOnes) {
  auto facts = facts_of({.nodes_per_package = 4, .cores_per_l3 = 2});
  facts.memories[0].distance = {10, 32, 32, 12};
  facts.memories[1].distance = {32, 10, 12, 32};
  facts.memories[2].distance = {32, 12, 10, 32};
  facts.memories[3].distance = {12, 32, 32, 10};
  check({{"near the first", machine(facts), "", {}, ask(3, Align::kSocket), "0-1,6", "0,3"}});
}

TEST(Domain, TaskGroups) {
  Request other_job = with_group(ask(2), "g");
  other_job.job = "another";
  Request memory_bound = with_group(ask(2), "g");
  memory_bound.profile = Profile::kMemory;
  Request one_memory_bound = memory_bound;
  one_memory_bound.cpus = 1;
  const Topology two_l3s = machine({.l3s_per_node = 2, .cores_per_l3 = 4});
  check({
      {"with its group",
       xeon_snc2(),
       "",
       {{"a", "36,84", "g"}},
       with_group(ask(2), "g"),
       "37,85",
       "3"},
      {"against the best fit",
       xeon_snc2(),
       "",
       {{"a", "36,84", "g"}, {"b", "0-9,48-57"}},
       with_group(ask(2), "g"),
       "37,85",
       "3"},
      {"where most of its group is",
       xeon_snc2(),
       "",
       {{"a", "12,60", "g"}, {"b", "36,84", "g"}, {"c", "37,85", "g"}},
       with_group(ask(2), "g"),
       "38,86",
       "3"},
      {"the nearest node when that is full",
       xeon_snc2(),
       "",
       {{"a", "36-47,84-95", "g"}},
       with_group(ask(2), "g"),
       "24,72",
       "2"},
      {"no other group",
       xeon_snc2(),
       "",
       {{"a", "36,84", "h"}, {"b", "24,25,72,73"}},
       with_group(ask(2), "g"),
       "26,74",
       "2"},
      {"the same name in another job is another group",
       xeon_snc2(),
       "",
       {{"a", "36,84", "g"}, {"b", "24,25,72,73"}},
       other_job,
       "26,74",
       "2"},
      {"within the node the group's L3",
       epyc_rome_256(),
       "",
       {{"a", "4,132", "g"}, {"b", "0-1,128-129"}},
       with_group(ask(2), "g"),
       "5,133",
       "0"},
      {"align l3: another L3 of the same node",
       epyc_rome_256(),
       "",
       {{"a", "20-23,148-151", "g"}},
       with_group(ask(2, Align::kL3), "g"),
       "16,144",
       "1"},
      {"memory-bound: spread",
       xeon_snc2(),
       "",
       {{"a", "0,48", "g", Profile::kMemory}},
       memory_bound,
       "12,60",
       "1"},
      {"memory-bound: the fewest on the controller",
       xeon_snc2(),
       "",
       {{"a", "0,48", "g", Profile::kMemory},
        {"b", "1,49", "g", Profile::kMemory},
        {"c", "12,60", "h", Profile::kMemory},
        {"d", "24,72", "", Profile::kMemory},
        {"e", "36,84", "", Profile::kMemory},
        {"f", "25,73", "", Profile::kMemory}},
       memory_bound,
       "13,61",
       "1"},
      {"memory-bound: within the node the best fit, not the group",
       two_l3s,
       "",
       {{"a", "4-5", "g", Profile::kMemory}, {"b", "0-2"}},
       one_memory_bound,
       "3",
       "0"},
      {"memory-bound ignores those that are not",
       xeon_snc2(),
       "",
       {{"a", "0,48", "g", Profile::kCpu}},
       memory_bound,
       "1,49",
       "0"},
  });
}

TEST(Domain, Climbing) {
  const std::vector<Placed> full_l3s = {{"a", "0,128"},  {"b", "4,132"},  {"c", "8,136"},
                                        {"d", "12,140"}, {"e", "16,144"}, {"f", "20,148"},
                                        {"g", "24,152"}, {"h", "28,156"}, {"i", "32-127,160-255"}};
  struct Climb {
    const char* name;
    Request request;
    Align met;
  };
  const std::vector<Climb> cases = {
      {"as asked", preferred(ask(6, Align::kL3)), Align::kL3},
      {"l3 to numa", preferred(ask(8, Align::kL3)), Align::kNuma},
      {"l3 to socket", preferred(ask(26, Align::kL3)), Align::kSocket},
      {"numa to socket", preferred(ask(26, Align::kNuma)), Align::kSocket},
      {"never narrower than asked", preferred(ask(2, Align::kSocket)), Align::kSocket},
      {"required and fitting", required(ask(24)), Align::kNuma},
  };
  for (const Climb& c : cases) {
    SCOPED_TRACE(c.name);
    const Outcome outcome = allocate(epyc_rome_256(), ledger_of("", full_l3s), c.request);
    const auto* decision = std::get_if<Decision>(&outcome);
    ASSERT_NE(decision, nullptr) << text_of(outcome);
    EXPECT_EQ(decision->why.asked, c.request.align);
    EXPECT_EQ(decision->why.met, c.met);
  }
  const Outcome refused = allocate(epyc_rome_256(), ledger_of("", full_l3s), required(ask(26)));
  EXPECT_TRUE(std::holds_alternative<Refusal>(refused));
}

TEST(Domain, ClimbingToTheWholeMachineSaysSo) {
  const Outcome outcome = allocate(xeon_snc2(), ledger_of("0,48", {}), preferred(ask(60)));
  const auto& decision = std::get<Decision>(outcome);
  EXPECT_EQ(decision.why.met, Align::kNone);
  EXPECT_EQ(decision.why.domain, kNoIndex);
  EXPECT_EQ(to_string(decision.why),
            "whole machine (numa asked): 60 of 94 free CPUs, best of 1 fitting");
}

}  // namespace
}  // namespace pinion::topology
