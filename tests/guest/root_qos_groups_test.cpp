// Groups of whole QoS classes against the real kernel.
#include "agent/cgroup/qos_groups.h"

#include <gmock/gmock.h>

#include "agent/cgroup/cpuset_files.h"
#include "tests/guest/root_groups.h"

namespace pinion::cgroup {
namespace {

using engine::CpuSet;
using engine::Enforce;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// NOLINTNEXTLINE(readability-identifier-naming): the name says what it needs
class Root_QosGroups : public RootGroups {
 protected:
  [[nodiscard]] engine::Enforced narrow(const std::string& path, const char* cpus) const {
    return CpusetFiles(hierarchy(), "/proc")
        .enforce({.id = path,
                  .cgroups_path = path,
                  .cpuset = {.cpus = *CpuSet::parse(cpus), .mems = {}},
                  .cause = engine::Cause::kFence,
                  .qos_group = true});
  }
};

TEST_F(Root_QosGroups, ATrialSaysThatTheyWorkAndLeavesNothing) {
  const auto works = probe_narrowing(hierarchy(), online());
  EXPECT_TRUE(works) << works.error().text;
  EXPECT_EQ(read("/pinion-probe", "cpuset.cpus"), "unreadable");
}

TEST_F(Root_QosGroups, OneWriteMovesAllBelow) {
  const std::string all = online().to_string();
  const std::string one = container(pod_a() + "/one", all);
  const std::string two = container(pod_a() + "/two", all);
  const std::string other = container(pod_b() + "/other", all);
  populate(one);
  const auto done = narrow(pod_a(), "0-1");
  EXPECT_TRUE(done.written) << done.error;
  EXPECT_EQ(done.found->cpus, online());
  EXPECT_EQ(read(one, "cpuset.cpus"), all) << "its own file is as it was";
  EXPECT_EQ(read(one, "cpuset.cpus.effective"), "0-1");
  EXPECT_EQ(read(two, "cpuset.cpus.effective"), "0-1");
  EXPECT_EQ(read(other, "cpuset.cpus.effective"), all);
  EXPECT_FALSE(narrow(pod_a(), "0-1").written) << "it is so already";
  EXPECT_TRUE(narrow(pod_a(), "2-3").written);
  EXPECT_EQ(read(one, "cpuset.cpus.effective"), "2-3");
}

TEST_F(Root_QosGroups, WhatIsNotLeftByTheGroupsAboveIsAnError) {
  write(top(), "cpuset.cpus", "0-1");
  const auto done = narrow(pod_a(), "2-3");
  EXPECT_THAT(done.error, HasSubstr("leave it CPUs 0-1"));
}

TEST_F(Root_QosGroups, OnlyNarrowedOnesAreWidenedLater) {
  const std::string all = online().to_string();
  EXPECT_TRUE(narrow(pod_a(), "0-1").written);
  write(pod_b(), "cpuset.cpus", "2-3");
  SliceProperties no_systemd({});
  EXPECT_THAT(widen_narrowed(hierarchy(), no_systemd).groups, ElementsAre(pod_a()));
  EXPECT_EQ(read(pod_a(), "cpuset.cpus.effective"), all);
  EXPECT_EQ(read(pod_b(), "cpuset.cpus.effective"), "2-3") << "somebody else's";
  EXPECT_THAT(widen_narrowed(hierarchy(), no_systemd).groups, IsEmpty());
}

}  // namespace
}  // namespace pinion::cgroup
