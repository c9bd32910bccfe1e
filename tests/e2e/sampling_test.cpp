// More than 100 nodes: kube-scheduler sends a sample of them, which may lack the node that a gang's
// plan has for the pod.
// $PINION_E2E_NODES: how many nodes; $PINION_E2E_PERCENTAGE: of them is scored, 0: the scheduler's
// own choice.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "tests/e2e/crowd.h"

namespace pinion::e2e {
namespace {

using Clock = std::chrono::steady_clock;

// The scheduler scores 100 nodes at least, whatever the percentage.
class Sampling : public Scene, public testing::WithParamInterface<int> {
 protected:
  void start_nodes(int count) override { start_fakes(count); }
  // Members for which the scheduler had to be told of the planned node.
  int nominated() { return static_cast<int>(extender().figure("pinion_extender_nominated_total")); }
  // From the first pod made to all of them running.
  double seconds_of(const Gang& gang) {
    const auto begun = Clock::now();
    add(gang);
    EXPECT_TRUE(run(names(gang))) << gang.job;
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }
};

TEST_P(Sampling, GangsStartWhole) {
  const int percentage = GetParam();
  const int count = number_from("PINION_E2E_NODES", 120);
  start(count, {.extender = {}, .percentage_of_nodes = percentage});
  if (HasFatalFailure()) return;
  ASSERT_EQ(nominated(), 0);
  // A member takes most of a NUMA node, so that a gang needs half as many nodes.
  for (const int size : {2, 8, 32, 128}) {
    const Gang gang{.job = "of-" + std::to_string(size), .size = size, .cpus = 12};
    const int before = nominated();
    const double took = seconds_of(gang);
    std::cout << count << " nodes, " << percentage << " %, " << size << " members: " << took
              << " s, " << nominated() - before << " nominated\n";
    remove(names(gang));
    ASSERT_TRUE(agents_and_extender_agree()) << gang.job;
    ASSERT_TRUE(scheduler_has_heard());
  }
  if (percentage == 100) {
    EXPECT_EQ(nominated(), 0);
  } else {
    EXPECT_GT(nominated(), 0) << "no sample lacked a planned node: this has tested nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Percentage, Sampling,
                         testing::Values(number_from("PINION_E2E_PERCENTAGE", 5), 100),
                         [](const auto& one) { return "Of" + std::to_string(one.param); });

}  // namespace
}  // namespace pinion::e2e
