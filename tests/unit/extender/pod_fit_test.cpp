#include "cluster/core/pod_fit.h"

#include <gtest/gtest.h>

#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

using topology::Align;
using topology::Strength;

// Two NUMA nodes of two L3 domains of four cores, no SMT; CPU 0 is reserved: 3, 4, 4 and 4 free.
struct FitCase {
  const char* name;
  Align align;
  Strength strength;
  std::vector<int> cpus;   // by container
  topology::Bytes memory;  // of each
  bool fits;
};

class FitTogether : public testing::TestWithParam<FitCase> {};

TEST_P(FitTogether, AsPlanned) {
  const FitCase& c = GetParam();
  Fleet fleet;
  const auto machine = machine_of(
      {.packages = 2, .l3s_per_node = 2, .cores_per_l3 = 4, .memory_per_node = 8 * kGiB});
  ASSERT_TRUE(fleet.report(report_of("a", machine), 0));
  std::vector<topology::Request> requests;
  for (std::size_t i = 0; i < c.cpus.size(); ++i) {
    topology::Request request = request_of("p/" + std::to_string(i), c.cpus[i]);
    request.align = c.align;
    request.strength = c.strength;
    request.memory = c.memory;
    requests.push_back(request);
  }
  const FleetNode& node = fleet.node(0);
  EXPECT_EQ(PodFit(fleet, requests).fit(0), c.fits);
  EXPECT_EQ(grants_all(node, node.ledger, requests), c.fits);
  EXPECT_EQ(IdleFit(fleet, requests).fit(0), c.fits) << "nothing runs there";
  fleet.age(1, 1);
  EXPECT_FALSE(PodFit(fleet, requests).fit(0)) << "its agent is silent";
}

constexpr auto kRequired = Strength::kRequired;
constexpr auto kPreferred = Strength::kPreferred;

INSTANTIATE_TEST_SUITE_P(
    , FitTogether,
    testing::Values(
        FitCase{"in_one_domain", Align::kNuma, kRequired, {4, 4}, 0, true},
        FitCase{"in_two_domains", Align::kNuma, kRequired, {7, 8}, 0, true},
        FitCase{"three_in_two_domains", Align::kNuma, kRequired, {5, 5, 3}, 0, true},
        FitCase{"three_that_are_too_large", Align::kNuma, kRequired, {5, 5, 5}, 0, false},
        FitCase{"only_one_domain_has_room", Align::kNuma, kRequired, {8, 8}, 0, false},
        FitCase{"they_climb", Align::kNuma, kPreferred, {5, 5, 5}, 0, true},
        FitCase{"more_than_the_machine_has", Align::kNuma, kPreferred, {8, 8}, 0, false},
        FitCase{"their_memory_is_in_two_domains", Align::kNuma, kRequired, {4, 4}, 5 * kGiB, true},
        FitCase{"memory_for_two_of_three", Align::kNuma, kRequired, {2, 2, 2}, 5 * kGiB, false},
        FitCase{"l3_domains_share_memory", Align::kL3, kRequired, {4, 4, 3}, 5 * kGiB, false}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pinion::cluster
