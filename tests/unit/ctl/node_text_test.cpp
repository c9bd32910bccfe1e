#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/client/machine.h"
#include "ctl/node/container_rows.h"
#include "ctl/node/draw_node.h"
#include "tests/unit/ctl/golden.h"
#include "tests/unit/ctl/sample.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;

// As the command does: through the wire, where sizes of caches are lost.
topology::Topology told(const v1::Snapshot& snapshot) {
  return *agent::api::topology_of(snapshot.node().machine());
}

TEST(DrawNode, OfTwoCpus) {
  const v1::Snapshot snapshot = small_sample();
  expect_golden("node_2.txt", draw_node(snapshot, told(snapshot)));
}

TEST(DrawNode, Of256Cpus) {
  const v1::Snapshot snapshot = large_sample();
  expect_golden("node_256.txt", draw_node(snapshot, told(snapshot)));
}

TEST(DrawNode, SaysWhatSharedContainersRequestOfTheMemory) {
  v1::Snapshot snapshot = small_sample();
  snapshot.mutable_node()->set_shared_memory(3ULL << 30U);
  EXPECT_THAT(draw_node(snapshot, told(snapshot)),
              HasSubstr("\nShared containers request 3.0 GiB, of each NUMA node its part"));
}

TEST(DrawNode, OfAnAgentThatSaysLittle) {
  EXPECT_EQ(draw_node({}, {}),
            "Node       -, pinion-agent -, generation 0\n"
            "Runtime    - , -; not all containers are known\n"
            "Fence      -\n"
            "Largest    -\n");
}

TEST(ContainersTable, OfTwoCpus) {
  expect_golden("ps_2.txt", containers_table(small_sample(), false));
}

TEST(ContainersTable, Of256Cpus) {
  expect_golden("ps_256.txt", containers_table(large_sample(), false));
}

TEST(ContainersTable, ShowsTheFinishedWhenAsked) {
  v1::Snapshot snapshot = small_sample();
  snapshot.mutable_containers(2)->set_finished(true);
  EXPECT_THAT(containers_table(snapshot, false), Not(HasSubstr("wind-rank-0")));
  EXPECT_THAT(containers_table(snapshot, true), HasSubstr("  finished\n"));
  EXPECT_EQ(containers_table({}, false), "no containers\n");
}

TEST(ContainersTable, SaysWhoRunsOnLentCores) {
  v1::Snapshot snapshot = small_sample();
  v1::Container& lender = *snapshot.mutable_containers(0);
  lender.set_exclusive(true);
  lender.set_claim("1");
  lender.set_cpus("0");
  lender.set_lent_to("vc-0/slurm");
  EXPECT_THAT(containers_table(snapshot, true), HasSubstr("  1 (lent to vc-0/slurm)  "));
  lender.clear_lent_to();
  lender.set_not_lent("several");
  lender.set_not_lent_why("several have that name");
  EXPECT_THAT(containers_table(snapshot, true), HasSubstr("  not lent: several have that name\n"));
  lender.clear_not_lent();
  lender.set_exclusive(false);
  lender.set_borrowed("1");
  lender.set_cpus("0-1");
  EXPECT_THAT(containers_table(snapshot, true), HasSubstr("  0-1 (shared, borrowed 1)  "));
  lender.set_with_pod(true);
  EXPECT_THAT(containers_table(snapshot, true), HasSubstr("  0-1 (with its pod)  "));
}

TEST(ContainersTable, LetsNoTextWriteToTheTerminal) {
  v1::Snapshot snapshot = small_sample();
  for (v1::Container& container : *snapshot.mutable_containers()) {
    container.set_pod("\x1b[2J");
    container.set_job("\x1b[2J");
    container.set_task_group("\x1b[2J");
    container.set_trouble("\x1b[2J\n");
    container.set_qos("\x1b[2J");
    container.set_cpus("\x1b[2J");
  }
  EXPECT_THAT(containers_table(snapshot, true), Not(HasSubstr("\x1b")));
  const std::string node = draw_node(snapshot, told(snapshot));
  EXPECT_THAT(node, Not(HasSubstr("\x1b")));
}

TEST(SortBy, OrdersNamesAsPeopleDo) {
  const std::vector<std::string> ordered = {"a-1",    "a-002",  "a-2",   "a-2-b", "a-10",
                                            "a-10-1", "a-10-2", "a-10b", "a-b",   "b"};
  v1::Snapshot snapshot;
  for (auto name = ordered.rbegin(); name != ordered.rend(); ++name) {
    snapshot.add_containers()->set_name(*name);
  }
  std::vector<const v1::Container*> containers;
  for (const v1::Container& container : snapshot.containers()) containers.push_back(&container);
  sort_by(containers, SortKey::kName);
  std::vector<std::string> names;
  for (const v1::Container* container : containers) names.push_back(container->name());
  EXPECT_EQ(names, ordered);
}

TEST(UtcText, IsReadable) {
  EXPECT_EQ(utc_text(1767225600999), "2026-01-01 00:00:00Z");
  EXPECT_EQ(utc_text(0), "-");
}

}  // namespace
}  // namespace pinion::ctl
