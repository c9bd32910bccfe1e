// Giving a node back, in trees of plain files as cgroup v1 has them; partitions are tested in the
// guest.
#include "agent/release/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace
}  // namespace pinion::cgroup
