#include "cluster/slurm/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
