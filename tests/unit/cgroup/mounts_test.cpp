#include "base/cgroup/mounts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace pinion::cgroup {
namespace {

Mount v1(const std::string& directory) {
  return {.directory = directory, .version = 1};
}
Mount v2(const std::string& directory) {
  return {.directory = directory, .version = 2};
}

TEST(CgroupMounts, OfEveryKindOfMachine) {
  struct Case {
    std::string name;
    std::map<std::string, Mount> controllers;  // as libcgroup finds them
    std::string bare_unified;
    Mounts want;
  };
  const Mount top = v2("/sys/fs/cgroup");
  const Mount beside = v2("/sys/fs/cgroup/unified");
  const Mount joint = v1("/sys/fs/cgroup/cpu,cpuacct");
  const Mount memory = v1("/sys/fs/cgroup/memory");
  const std::vector<Case> cases{
      {"hybrid without perf_event in v1",
       {{"cpu", joint},
        {"cpuacct", joint},
        {"memory", memory},
        {"pids", v1("/sys/fs/cgroup/pids")}},
       "/sys/fs/cgroup/unified",
       {.cpu = joint,
        .cpuacct = joint,
        .memory = memory,
        .pids = v1("/sys/fs/cgroup/pids"),
        .perf = beside,
        .unified = beside}},
      {"v1 alone, without pids",
       {{"cpu", joint}, {"cpuacct", joint}, {"memory", memory}, {"perf_event", v1("/p")}},
       "",
       {.cpu = joint,
        .cpuacct = joint,
        .memory = memory,
        .pids = {},
        .perf = v1("/p"),
        .unified = {}}},
      {"v2 alone, which names neither cpuacct nor perf_event",
       {{"cpu", top}, {"memory", top}, {"pids", top}},
       "/sys/fs/cgroup",
       {.cpu = top, .cpuacct = top, .memory = top, .pids = top, .perf = top, .unified = top}},
      {"v2 in another place than systemd's",
       {{"cpu", v2("/cg")}},
       "",
       {.cpu = v2("/cg"),
        .cpuacct = v2("/cg"),
        .memory = v2("/cg"),
        .pids = v2("/cg"),
        .perf = v2("/cg"),
        .unified = v2("/cg")}},
      {"v2 without any controller",
       {},
       "/sys/fs/cgroup",
       {.cpu = top, .cpuacct = top, .memory = top, .pids = top, .perf = top, .unified = top}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto find = [&c](const char* controller) -> Result<Hierarchy> {
      const auto found = c.controllers.find(controller);
      if (found == c.controllers.end()) return failure(Errc::kNotFound, "none");
      return Hierarchy{.mount = found->second.directory, .version = found->second.version};
    };
    const auto mounts = mounts_of(find, c.bare_unified);
    ASSERT_TRUE(mounts) << mounts.error().text;
    EXPECT_EQ(*mounts, c.want);
  }
}

TEST(CgroupMounts, AMachineWithoutAnyAndOneThatCannotBeRead) {
  const auto none = [](const char*) -> Result<Hierarchy> {
    return failure(Errc::kNotFound, "none");
  };
  EXPECT_EQ(mounts_of(none, "").error().code, Errc::kNotFound);
  const auto broken = [](const char*) -> Result<Hierarchy> {
    return failure(Errc::kUnavailable, "libcgroup: no memory");
  };
  EXPECT_EQ(mounts_of(broken, "/sys/fs/cgroup").error().code, Errc::kUnavailable);
}

TEST(CgroupMounts, OfThisMachineAreBelowTheRootThatIsAsked) {
  EXPECT_EQ(find_mounts("/nowhere").error().code, Errc::kNotFound);
  const auto mounts = find_mounts("/");
  if (!mounts) GTEST_SKIP() << mounts.error().text;
  for (const Mount* mount : {&mounts->cpu, &mounts->memory, &mounts->perf, &mounts->unified}) {
    EXPECT_EQ(mount->found(), mount->directory.starts_with("/")) << mount->directory;
  }
}

}  // namespace
}  // namespace pinion::cgroup
