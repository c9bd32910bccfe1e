// Jobs, members and nodes brought to the core one event at a time. Two nodes of one NUMA node with
// 7 CPUs to give each.
#pragma once

#include <gtest/gtest.h>

#include "cluster/core/scheduler.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {

class SchedulerTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* node : {"a", "b"}) add_node(node);
  }

  void add_node(const std::string& node) {
    ASSERT_TRUE(core_.report(report_of(node, machine_), now_));
  }

  // What a node's agent reports.
  void tell(const std::string& node, std::uint64_t generation,
            std::vector<topology::Claim> claims) {
    NodeReport report = report_of(node, machine_);
    report.generation = generation;
    report.claims = std::move(claims);
    ASSERT_TRUE(core_.report(std::move(report), now_));
  }

  struct Of {
    int size = 1;
    int cpus = 1;
    std::int32_t priority = 0;
    std::int64_t run_ms = 0;
    std::string name{};  // where it is not the id
    std::string name_space = "team";
    int groups = 0;
    int nodes = 0;
  };
  void submit(const JobId& id, const Of& of) {
    JobSpec spec;
    spec.owner = {
        .name_space = of.name_space, .kind = "Job", .name = of.name.empty() ? id : of.name};
    spec.priority = of.priority;
    spec.size = of.size;
    spec.task_groups = of.groups;
    spec.nodes = of.nodes;
    core_.submit(id, spec, now_++);
  }
  void join(const JobId& id, int number, int cpus, std::int64_t run_ms = 0) {
    const MemberId member = id + "-" + std::to_string(number);
    EXPECT_TRUE(
        core_.join(id, member, {request_of(member + "/main", cpus)}, now_, {.run_ms = run_ms}));
  }
  void job(const JobId& id, const Of& of) {
    submit(id, of);
    for (int i = 0; i < of.size; ++i) join(id, i, of.cpus, of.run_ms);
  }
  // One pass over the queue; "RESERVED ..." and "withdrawn: ..." in order.
  std::vector<std::string> run() {
    now_ += 1000;  // whoever was refused is tried again
    core_.run(now_);
    return news();
  }
  std::vector<std::string> news() {
    std::vector<std::string> texts;
    for (const JobNews& each : core_.take_news()) {
      switch (each.kind) {
        case JobNews::Kind::kReserved:
          texts.push_back(each.job + " " + std::to_string(each.members));
          break;
        case JobNews::Kind::kStarted:
          texts.push_back(each.job + " started");
          break;
        case JobNews::Kind::kWithdrawn:
          texts.push_back(each.job + ": " + each.why);
          break;
        case JobNews::Kind::kHopeless:
          texts.push_back(each.job + " never");
      }
    }
    return texts;
  }
  // All members that have CPUs start.
  void start(const JobId& id) {
    for (const auto& [name, member] : core_.book().find(id)->members) {
      if (!core_.start(name, now_)) continue;
      core_.started(name, true, now_);
    }
    core_.take_news();
  }
  void end(const JobId& id) {
    core_.end(id, now_);
    core_.take_news();
  }
  const std::string& why(const JobId& id) { return core_.book().find(id)->why; }
  std::string node_of(const MemberId& member) { return core_.book().member(member)->node; }

  const MachinePtr machine_ = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
  Scheduler core_{SchedulerSettings{.keep_ms = 5000, .confirm_ms = 9000, .silent_ms = 50'000}};
  std::int64_t now_ = 100;
};

}  // namespace pinion::cluster
