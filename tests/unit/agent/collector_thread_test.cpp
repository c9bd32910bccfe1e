#include "agent/collector_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "tests/support/machine.h"

namespace pinion::agent {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const NodeView> view_of(std::uint64_t generation, int containers) {
  auto view = std::make_shared<NodeView>();
  view->generation = generation;
  view->topology = std::make_shared<const topology::Topology>(
      test_support::machine(test_support::MachineSpec{}));
  for (int i = 0; i < containers; ++i) {
    ContainerView container;
    container.id = "c" + std::to_string(i);
    container.name = "main";
    container.pod = "pod-" + std::to_string(i);
    container.cgroups_path = i % 2 == 0 ? "/kubepods/pod/" + container.id : "../out";
    container.started = i % 4 != 2;
    view->containers.push_back(std::move(container));
  }
  return view;
}

// Views come while passes run, others read the samples: nobody waits, nothing is torn.
TEST(CollectorThread, MeasuresTheNewestViewUntilItIsStopped) {
  metrics::Collector collector({});
  Published<NodeView> views;
  Published<metrics::Sample> samples;
  std::atomic<std::uint64_t> seen = 0;
  std::latch enough(20);
  const auto subscription = samples.subscribe([&] {
    const auto sample = samples.get();
    EXPECT_GT(sample->number, seen.load());
    seen = sample->number;
    if (sample->number <= 20) enough.count_down();
  });
  {
    const CollectorThread thread(collector, views, samples, 1ms);
    for (std::uint64_t i = 1; i <= 200; ++i) views.publish(view_of(i, static_cast<int>(i % 8)));
    enough.wait();
  }
  const std::uint64_t last = seen;
  EXPECT_GE(last, 20U);
  EXPECT_EQ(samples.get()->number, last) << "it runs on";
}

TEST(CollectorThread, WithoutAViewThereIsNoSample) {
  metrics::Collector collector({});
  const Published<NodeView> views;
  Published<metrics::Sample> samples;
  { const CollectorThread thread(collector, views, samples, 1ms); }
  EXPECT_EQ(samples.get(), nullptr);
}

TEST(Targets, AreTheStartedContainersThatCanBeFound) {
  Targets targets;
  const auto list = targets.update(*view_of(1, 5));
  ASSERT_EQ(list.size(), 2U) << "c0 and c4: c1, c3 lead out of the tree, c2 has not started";
  EXPECT_EQ(list[0].cgroup, "/kubepods/pod/c0");
  EXPECT_EQ(list[1].who->pod, "pod-4");
}

// It is shown by its cores, also when it is gone, and measured where it runs.
TEST(Targets, ALenderIsExclusiveByNameAlone) {
  NodeView view = *view_of(1, 1);
  ContainerView& lender = view.containers[0];
  lender.exclusive = true;
  lender.decided.cpus = {0};
  lender.lent = {2, 3};
  Targets targets;
  const metrics::Target& target = targets.update(view)[0];
  EXPECT_TRUE(target.who->exclusive);
  EXPECT_EQ(target.who->cpus, "2-3");
  EXPECT_FALSE(target.exclusive);
  EXPECT_EQ(target.cpus, topology::CpuSet{0});
}

TEST(Targets, KeepTheIdentityOfWhatDidNotChange) {
  Targets targets;
  const auto before = targets.update(*view_of(1, 1))[0].who;
  EXPECT_EQ(targets.update(*view_of(2, 5))[0].who, before);
  NodeView changed = *view_of(3, 1);
  changed.containers[0].job = "wind";
  EXPECT_NE(targets.update(changed)[0].who, before);
}

}  // namespace
}  // namespace pinion::agent
