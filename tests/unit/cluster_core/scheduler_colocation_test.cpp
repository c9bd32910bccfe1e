// The core under rules of which loads share nodes. Two nodes with 7 CPUs to give each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/core/scheduler.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

class ColocationTest : public testing::Test {
 protected:
  void begin(const ColocationRules& rules) {
    core_.emplace(SchedulerSettings{.service_placement = PlacementPolicy::kLeastLoaded,
                                    .colocation = rules,
                                    .keep_ms = 60'000});
    for (const char* node : {"a", "b"}) ASSERT_TRUE(core_->report(report_of(node, machine_), 0));
  }
  void job(const JobId& id, int size, int cpus, bool service = false, std::int64_t run_ms = 0) {
    JobSpec spec;
    spec.owner = {.name_space = "team", .kind = "Job", .name = id};
    spec.size = size;
    spec.service = service;
    core_->submit(id, spec, now_);
    for (int i = 0; i < size; ++i) {
      const MemberId member = id + "-" + std::to_string(i);
      core_->join(id, member, {request_of(member + "/main", cpus)}, now_, {.run_ms = run_ms});
    }
  }
  // "j-0@a j-1@b" of all members that have a place, after a pass over the queue.
  std::string placed() {
    core_->run(now_ += 1000);
    std::string text;
    for (const auto& [id, job] : core_->book().jobs()) {
      for (const auto& [name, member] : job.members) {
        if (!member.node.empty()) text += (text.empty() ? "" : " ") + name + "@" + member.node;
      }
    }
    return text;
  }
  const std::string& why(const JobId& id) { return core_->book().find(id)->why; }

  const MachinePtr machine_ = machine_of({.cores_per_l3 = 8, .memory_per_node = 64 * kGiB});
  std::optional<Scheduler> core_;
  std::int64_t now_ = 0;
};

TEST_F(ColocationTest, ByDefaultAllShareNodes) {
  begin({});
  job("j", 2, 2);
  job("k", 1, 2);
  EXPECT_EQ(placed(), "j-0@a j-1@a k-0@a");
  job("s", 1, 1, true);
  EXPECT_EQ(placed(), "j-0@a j-1@a k-0@a s-0@b") << "services go by their own rule";
}

TEST_F(ColocationTest, JobsThatDoNotShareHaveNodesOfTheirOwn) {
  begin({.jobs_share = false});
  job("j", 2, 2);
  job("k", 1, 2);
  job("l", 1, 2);
  EXPECT_EQ(placed(), "j-0@a j-1@a k-0@b");
  EXPECT_FALSE(core_->would_place("l", now_));
  // One that comes late to its job joins the others, and is no other job.
  core_->join("j", "j-2", {request_of("j-2/main", 2)}, now_);
  for (const char* member : {"j-0", "j-1"}) {
    ASSERT_TRUE(core_->start(member, now_));
    core_->started(member, true, now_);
  }
  EXPECT_EQ(placed(), "j-0@a j-1@a j-2@a k-0@b");
  core_->end("k", now_);
  EXPECT_EQ(placed(), "j-0@a j-1@a j-2@a l-0@b") << "it waited, and was not given up";
}

TEST_F(ColocationTest, ServicesAndJobsHaveDedicatedNodes) {
  begin({.services_beside = false});
  job("s", 1, 1, true);
  job("j", 2, 3);
  EXPECT_EQ(placed(), "j-0@b j-1@b s-0@a");
  job("k", 1, 2);
  EXPECT_EQ(placed(), "j-0@b j-1@b s-0@a");
  EXPECT_EQ(core_->place_at("k-0", "a", now_).why,
            "services are on the node, and HPC jobs go to others (servicesBesideJobs)");
  job("t", 1, 7, true);
  EXPECT_EQ(placed(), "j-0@b j-1@b s-0@a") << "b has the CPUs for none, a no 7";
  core_->end("j", now_);
  EXPECT_EQ(placed(), "k-0@b s-0@a");
  core_->end("k", now_);
  EXPECT_EQ(placed(), "s-0@a t-0@b");
  // Services that are no members count, too.
  core_->end("s", now_);
  core_->end("t", now_);
  core_->terms("a", {.services = 1}, now_);
  job("l", 1, 1);
  EXPECT_EQ(placed(), "l-0@b");
  core_->terms("b", {.services = 1}, now_);
  EXPECT_EQ(placed(), "") << "its reservation is gone with the service's coming";
  core_->terms("a", {}, now_);
  EXPECT_EQ(placed(), "l-0@a");
}

// Somebody else has started another job beside it: that takes nothing from it, nor does a look for
// a more urgent one.
TEST_F(ColocationTest, AMoreUrgentJobThatIsRefusedLeavesThoseThatMayNotComeThereAnyMore) {
  begin({.jobs_share = false});
  job("j", 1, 2);
  EXPECT_EQ(placed(), "j-0@a");
  job("k", 1, 2);
  EXPECT_TRUE(core_->runs("k-0", "a", now_));
  JobSpec urgent;
  urgent.priority = 1;
  urgent.size = 2;
  core_->submit("u", urgent, now_);
  for (const char* id : {"u-0", "u-1"}) {
    core_->join("u", id, {request_of(std::string(id) + "/main", 6)}, now_);
  }
  EXPECT_FALSE(core_->place("u", nullptr, now_).placed);
  EXPECT_EQ(core_->book().member("j-0")->node, "a");
}

TEST_F(ColocationTest, RoomIsHeldForTheFirstWhereOthersWillHaveLeft) {
  begin({.jobs_share = false});
  job("j", 1, 1, false, 10'000);
  job("k", 1, 1, false, 90'000);
  EXPECT_EQ(placed(), "j-0@a k-0@b");
  job("first", 1, 1, false, 1000);
  placed();
  ASSERT_TRUE(core_->head_room());
  EXPECT_EQ(core_->head_room()->cpus.begin()->first, core_->fleet().find("a"));
  core_->end("j", now_);
  EXPECT_EQ(placed(), "first-0@a k-0@b");
}

TEST_F(ColocationTest, AtMostOneMemberOfAJobOnANodeButAnyNumberOfAService) {
  begin({.apart = true});
  job("j", 2, 2);
  job("s", 3, 1, true);
  EXPECT_EQ(placed().substr(0, 11), "j-0@a j-1@b");
  EXPECT_EQ(core_->book().find("s")->count(Member::State::kReserved), 3);
  job("k", 3, 1);
  placed();
  EXPECT_THAT(why("k"), testing::HasSubstr("each on another node"));
}

}  // namespace
}  // namespace pinion::cluster
