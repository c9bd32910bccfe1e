#include "cluster/slurm/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace pinion::slurm {
namespace {

using testing::HasSubstr;

Job wanting(int nodes, int cpus, int tasks) {
  Job job;
  job.nodes = nodes;
  job.cpus = cpus;
  job.tasks = tasks;
  return job;
}

int cpus_of(const Job& job) {
  const auto shape = shape_of(job, {});
  return shape ? shape->cpus : -1;
}

TEST(Shape, NodesAreAlike) {
  EXPECT_EQ(cpus_of(wanting(2, 4, 4)), 2);
  EXPECT_EQ(cpus_of(wanting(2, 5, 5)), 3) << "the odd task's room is on both";
  Job wide = wanting(2, 8, 3);
  wide.cpus_per_task = 2;
  EXPECT_EQ(cpus_of(wide), 4);
  Job packed = wanting(2, 8, 8);
  packed.tasks_per_node = 6;
  EXPECT_EQ(cpus_of(packed), 6);
  Job least = wanting(2, 2, 2);
  least.cpus_per_node = 5;
  EXPECT_EQ(cpus_of(least), 5);
}

TEST(Shape, MemoryIsTheJobsOrByItsCpus) {
  Job job = wanting(1, 4, 4);
  EXPECT_EQ(shape_of(job, {.memory_per_cpu_mib = 100})->memory_mib, 400);
  job.memory_per_cpu_mib = 300;
  EXPECT_EQ(shape_of(job, {})->memory_mib, 1200);
  job.memory_per_node_mib = 5000;
  EXPECT_EQ(shape_of(job, {})->memory_mib, 5000);
}

TEST(Shape, WholeNodesWhereTheOperatorSaysHowLargeTheyAre) {
  Job job = wanting(1, 2, 2);
  job.exclusive = true;
  EXPECT_THAT(shape_of(job, {}).error().text, HasSubstr("--exclusive"));
  EXPECT_EQ(shape_of(job, {.exclusive_cpus = 64})->cpus, 64);
}

TEST(Shape, AJobThatNamesNoNumberOfNodesGetsAsManyAsItNeeds) {
  const ShapeRules rules{.memory_per_cpu_mib = 1, .exclusive_cpus = 0, .most_cpus = 63};
  const auto nodes_and_cpus = [&](const Job& job) {
    const auto shape = shape_of(job, rules);
    return shape ? std::pair(shape->nodes, shape->cpus) : std::pair(0, 0);
  };
  Job job = wanting(1, 64, 64);
  EXPECT_EQ(nodes_and_cpus(job), std::pair(2, 32));
  EXPECT_EQ(shape_of(job, {})->nodes, 1) << "no bound is set";
  job.max_nodes = 1;
  EXPECT_EQ(nodes_and_cpus(job), std::pair(1, 64)) << "-N1";
  EXPECT_EQ(nodes_and_cpus(wanting(1, 63, 63)), std::pair(1, 63));
  EXPECT_EQ(nodes_and_cpus(wanting(2, 128, 128)), std::pair(3, 43)) << "Slurm has guessed two";
  Job wide = wanting(1, 96, 3);
  wide.cpus_per_task = 32;
  EXPECT_EQ(nodes_and_cpus(wide), std::pair(3, 32)) << "two tasks of 32 are too many";
  wide = wanting(1, 200, 2);
  wide.cpus_per_task = 100;
  EXPECT_EQ(nodes_and_cpus(wide), std::pair(2, 100)) << "a task is on one node";
  Job packed = wanting(2, 9, 9);
  packed.tasks_per_node = 4;
  EXPECT_EQ(nodes_and_cpus(packed), std::pair(3, 4));
}

TEST(Shape, WhatCanNeverRunIsRefusedWithTheReason) {
  EXPECT_THAT(shape_of(wanting(1001, 1001, 0), {}).error().text, HasSubstr("1000"));
  EXPECT_THAT(shape_of(wanting(1, 5000, 0), {}).error().text, HasSubstr("5000 CPUs"));
  EXPECT_FALSE(shape_of(wanting(0, 1, 0), {}).has_value());
  Job huge = wanting(1, 1, 2'000'000'000);
  huge.cpus_per_task = 2'000'000'000;
  EXPECT_FALSE(shape_of(huge, {}).has_value());
  Job job = wanting(1, 1, 1);
  job.comment = "profile=gpu";
  EXPECT_THAT(shape_of(job, {}).error().text, HasSubstr("cpu, memory, network"));
  job.comment = "profile=memory";
  EXPECT_EQ(shape_of(job, {})->profile, "memory");
  job.heterogeneous = true;
  EXPECT_THAT(shape_of(job, {}).error().text, HasSubstr("heterogeneous"));
}

}  // namespace
}  // namespace pinion::slurm
