// The adapter of cluster/core/README.md, as it stands there: tests/docs compares the two.
#include <gtest/gtest.h>

#include <map>

#include "cluster/core/scheduler.h"
#include "tests/unit/extender/scene.h"

namespace pinion::cluster {
namespace {

TEST(AdapterExample, StartsAllMembersOfAJobAndHearsThatTheyRun) {
  const MachinePtr machine = machine_of({.cores_per_l3 = 9});
  std::int64_t now = 1000;
  std::map<std::string, std::string> launched;
  const auto launch = [&](const MemberId& id, const std::string& node) {
    return launched.emplace(id, node).second;
  };
  int events = 0;
  const auto wait_for_event = [&](Scheduler& scheduler, std::int64_t& then) {
    if (events++ > 0) return false;
    then += 1000;
    for (const auto& [id, node] : launched) EXPECT_TRUE(scheduler.runs(id, node, then));
    return true;
  };
  // README: begin
  Scheduler core({});
  core.exists("n1", true, now);
  NodeReport n1;
  n1.name = "n1";
  n1.topology = machine;
  n1.instance = "1";
  n1.generation = 1;
  (void)core.report(n1, now);
  JobSpec wave;
  wave.owner = {"hpc", "Job", "wave"};
  wave.size = 2;
  core.submit("uid-of-wave", wave, now);
  for (const char* rank : {"r0", "r1"}) {
    topology::Request four;
    four.id = rank;
    four.cpus = 4;
    core.join("uid-of-wave", rank, {four}, now);
  }
  do {
    core.tick(now);
    core.run(now);
    for (const JobNews& news : core.take_news()) {
      if (news.kind != JobNews::Kind::kReserved) continue;
      for (const auto& [id, member] : core.book().find(news.job)->members) {
        if (core.start(id, now)) core.started(id, launch(id, member.node), now);
      }
    }
  } while (wait_for_event(core, now));  // tells the core of it; at core.next_ms(), if none comes
  // README: end
  EXPECT_EQ(launched, (std::map<std::string, std::string>{{"r0", "n1"}, {"r1", "n1"}}));
  for (const auto& [id, node] : launched) {
    const Member& member = *core.book().member(id);
    EXPECT_EQ(member.state, Member::State::kRunning) << id;
    EXPECT_TRUE(member.requests.front().planned) << id;
    EXPECT_EQ(member.requests.front().preferred.count(), 4) << id;
  }
  EXPECT_EQ(core.fleet().node(core.fleet().find("n1")).ledger.exclusive().count(), 8);
}

}  // namespace
}  // namespace pinion::cluster
