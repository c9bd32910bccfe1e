// Giving a node back, in trees of plain files as cgroup v1 has them; partitions are tested in the
// guest.
#include "agent/release/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/kept_file.h"
#include "agent/release/release.h"
#include "base/state_lock.h"
#include "tests/support/tree.h"

namespace pinion::cgroup {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Release : public testing::Test {
 protected:
  void write(const char* text) { ASSERT_TRUE(test_support::write_tree(text, dir_.path())); }
  [[nodiscard]] Released release(int version) const {
    SliceProperties no_systemd({});
    const auto done = cgroup::release(
        {.mount = dir_.path().string(), .version = version, .writable = true}, no_systemd);
    EXPECT_TRUE(done);
    return done.value_or(Released());
  }
  [[nodiscard]] std::string text(const std::string& path) const {
    std::ifstream file(dir_.path() / path);
    std::string line;
    std::getline(file, line);
    return line;
  }

 private:
  test_support::TempDir dir_;
};

TEST_F(Release, GroupsNestedDeeplyFollowTooAndThoseNestedTooDeeplyAreListed) {
  std::string tree =
      "cpuset.cpus = 0-7\ncpuset.mems = 0\nkubepods/cpuset.cpus = 0-7\nkubepods/cpuset.mems = 0\n";
  std::string path = "kubepods";
  for (int level = 1; level <= 300; ++level) {
    path += "/d";
    tree += path + "/cpuset.cpus = 1\n" + path + "/cpuset.mems = 0\n";
  }
  write(tree.c_str());
  const Released done = release(1);
  EXPECT_EQ(text("kubepods/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/cpuset.cpus"), "0-7");
  EXPECT_THAT(done.failed,
              ElementsAre(testing::EndsWith("the groups in it are nested too deeply")));
}

TEST_F(Release, EveryGroupOfAPodFollowsItsParentAgainAndNobodyElseDoes) {
  write(R"(
cpuset.cpus = 0-7
cpuset.mems = 0-1
system.slice/cpuset.cpus = 0
system.slice/cpuset.mems = 0
kubepods/cpuset.cpus = 0-7
kubepods/cpuset.mems = 0-1
kubepods/pod1/cpuset.cpus = 0-7
kubepods/pod1/cpuset.mems = 0-1
kubepods/pod1/rank/cpuset.cpus = 4-5
kubepods/pod1/rank/cpuset.mems = 1
kubepods/burstable/cpuset.cpus = 0-7
kubepods/burstable/cpuset.mems = 0-1
kubepods/burstable/pod2/cpuset.cpus = 0-7
kubepods/burstable/pod2/cpuset.mems = 0-1
kubepods/burstable/pod2/other/cpuset.cpus = 0-3
kubepods/burstable/pod2/other/cpuset.mems = 0-1
)");
  EXPECT_THAT(release(1).widened,
              UnorderedElementsAre("/kubepods/pod1/rank", "/kubepods/burstable/pod2/other"));
  EXPECT_EQ(text("kubepods/pod1/rank/cpuset.cpus"), "0-7");
  EXPECT_EQ(text("kubepods/pod1/rank/cpuset.mems"), "0-1");
  EXPECT_EQ(text("kubepods/burstable/pod2/other/cpuset.cpus"), "0-7");
  EXPECT_EQ(text("system.slice/cpuset.cpus"), "0");
  EXPECT_THAT(release(1).widened, IsEmpty()) << "a second time there is nothing to do";
}

TEST_F(Release, GroupsOfTheSystemdDriverBelowSomebodyElseAreFound) {
  write(R"(
cpuset.cpus = 0-3
cpuset.mems = 0
kubelet/cpuset.cpus = 0-3
kubelet/cpuset.mems = 0
kubelet/kubepods.slice/cpuset.cpus = 0-1
kubelet/kubepods.slice/cpuset.mems = 0
kubelet/kubepods.slice/kubepods-pod1.slice/cpuset.cpus = 1
kubelet/kubepods.slice/kubepods-pod1.slice/cpuset.mems = 0
)");
  EXPECT_THAT(release(1).widened, ElementsAre("/kubelet/kubepods.slice",
                                              "/kubelet/kubepods.slice/kubepods-pod1.slice"));
  EXPECT_EQ(text("kubelet/kubepods.slice/kubepods-pod1.slice/cpuset.cpus"), "0-3");
}

TEST_F(Release, AReadOnlyTreeIsAnError) {
  SliceProperties no_systemd({});
  const auto done = cgroup::release({.mount = "/", .version = 1, .writable = false}, no_systemd);
  EXPECT_EQ(done.error().code, Errc::kDenied);
}

// A node without control groups, whose agent's state directory is its root folder.
class ReleaseNode : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::create_directories(dir_.path() / "proc"));
    ASSERT_TRUE(lock_state_dir(dir_.path())) << "as an agent did";
    ASSERT_TRUE(agent::save_kept(
        kept_,
        {{.pod_id = "4f1d02", .container = "main", .cpus = topology::CpuSet{2}, .count = 1}}));
  }
  [[nodiscard]] Result<agent::NodeReleased> release() const {
    return agent::release_node(dir_.path(), dir_.path());
  }
  [[nodiscard]] bool keeps() const { return std::filesystem::exists(kept_); }

  test_support::TempDir dir_;
  std::string kept_ = dir_.path() / agent::kKeptFile;
};

TEST_F(ReleaseNode, PodsKeepNothingAnyMore) {
  for (const char* time : {"the first time", "a second time"}) {
    const auto done = release();
    ASSERT_TRUE(done) << time;
    EXPECT_THAT(done->not_released, IsEmpty()) << time;
    EXPECT_FALSE(done->cgroups) << "those of this machine are left alone";
    EXPECT_FALSE(keeps()) << time;
  }
}

TEST_F(ReleaseNode, AFolderThatNoAgentHasUsedIsLeftAlone) {
  const std::string typo = dir_.path() / "piniom";
  const std::string other = dir_.path() / "proc";
  for (const std::string& folder : {typo, other}) {
    const auto done = agent::release_node(dir_.path(), folder);
    ASSERT_FALSE(done) << folder;
    EXPECT_EQ(done.error().code, Errc::kNotFound);
    EXPECT_THAT(done.error().text, testing::HasSubstr(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(typo));
  EXPECT_TRUE(std::filesystem::is_empty(other));
}

TEST_F(ReleaseNode, SaysWhenWhatTheyKeepCannotBeTakenAway) {
  std::filesystem::remove(kept_);
  std::filesystem::create_directory(kept_);
  const auto done = release();
  ASSERT_TRUE(done);
  EXPECT_THAT(done->not_released, ElementsAre("remove " + kept_ + ": Is a directory"));
}

TEST_F(ReleaseNode, WhileAnAgentRunsTheyKeepIt) {
  const auto lock = lock_state_dir(dir_.path());
  ASSERT_TRUE(lock);
  EXPECT_EQ(release().error().code, Errc::kExhausted);
  EXPECT_TRUE(keeps());
}

// Its lock is elsewhere.
TEST_F(ReleaseNode, NorWhileOneRunsThatHasAnotherStateDirectory) {
  ASSERT_TRUE(test_support::write_tree(R"(
proc/60/comm = pinion-agent
proc/60/cmdline = pinion-agent
proc/70/comm = pinion-agent
proc/70/cmdline = pinion-agent
proc/80/comm = pinion-extender
proc/80/cmdline = pinion-extender
)",
                                       dir_.path()));
  const auto done = release();
  EXPECT_EQ(done.error().code, Errc::kExhausted);
  EXPECT_EQ(done.error().text,
            "pinion-agent runs on this node, with whatever state directory: process 60, 70; stop "
            "it first");
  EXPECT_TRUE(keeps());
  std::filesystem::remove_all(dir_.path() / "proc/60");
  std::filesystem::remove_all(dir_.path() / "proc/70");
  EXPECT_TRUE(release());
}

TEST_F(ReleaseNode, NorWhileOneServesTheRuntimeThatIsNotSeen) {
  const auto nri = dir_.path() / "var/run/nri";
  std::filesystem::create_directories(nri);
  RuntimeLock agents(nri / "nri.sock");
  ASSERT_TRUE(agents.hold());
  EXPECT_EQ(release().error().code, Errc::kExhausted);
  EXPECT_TRUE(keeps());
}

TEST_F(ReleaseNode, NorWhereNobodyCanSayWhetherOneRuns) {
  std::filesystem::remove(dir_.path() / "proc");
  EXPECT_EQ(release().error().code, Errc::kNotFound);
  EXPECT_TRUE(keeps());
}

}  // namespace
}  // namespace pinion::cgroup
