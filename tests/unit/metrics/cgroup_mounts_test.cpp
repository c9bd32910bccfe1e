#include "metrics/cgroup_mounts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinion::metrics {
namespace {

CgroupMount v1(const std::string& directory) {
  return {.directory = directory, .version = 1};
}
CgroupMount nowhere() {
  return {};
}
CgroupMount v2(const std::string& directory) {
  return {.directory = directory, .version = 2};
}

const std::string kOthers =
    "proc /proc proc rw,relatime 0 0\ntmpfs /sys/fs/cgroup tmpfs rw,relatime,mode=755 0 0\n";

const std::string kHybrid = kOthers +
                            "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n"
                            "cgroup /sys/fs/cgroup/cpuacct cgroup rw,relatime,cpuacct 0 0\n"
                            "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n"
                            "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n"
                            "cgroup /sys/fs/cgroup/pids cgroup rw,relatime,pids 0 0\n"
                            "cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0\n"
                            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";

TEST(CgroupMountsText, ReadsEveryKindOfMachine) {
  struct Case {
    std::string name, text;
    CgroupMounts want;
  };
  const std::string unified = "/sys/fs/cgroup/unified";
  const std::vector<Case> cases{
      {"hybrid without perf_event in v1",
       kHybrid,
       {.cpu = v1("/sys/fs/cgroup/cpu"),
        .cpuacct = v1("/sys/fs/cgroup/cpuacct"),
        .memory = v1("/sys/fs/cgroup/memory"),
        .pids = v1("/sys/fs/cgroup/pids"),
        .perf = v2(unified),
        .unified = v2(unified)}},
      {"v1 with joint controllers",
       kOthers + "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
                 "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
                 "cgroup /sys/fs/cgroup/perf_event cgroup rw,perf_event 0 0\n",
       {.cpu = v1("/sys/fs/cgroup/cpu,cpuacct"),
        .cpuacct = v1("/sys/fs/cgroup/cpu,cpuacct"),
        .memory = v1("/sys/fs/cgroup/memory"),
        .pids = nowhere(),
        .perf = v1("/sys/fs/cgroup/perf_event"),
        .unified = nowhere()}},
      {"v2 alone",
       kOthers + "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate,memory_recursiveprot 0 0\n",
       {.cpu = v2("/sys/fs/cgroup"),
        .cpuacct = v2("/sys/fs/cgroup"),
        .memory = v2("/sys/fs/cgroup"),
        .pids = v2("/sys/fs/cgroup"),
        .perf = v2("/sys/fs/cgroup"),
        .unified = v2("/sys/fs/cgroup")}},
      {"memory moved to v2 (cgroup_no_v1=memory), the unified mount first",
       "cgroup2 /cg/unified cgroup2 rw 0 0\ncgroup /cg/cpu cgroup rw,cpu,cpuacct,pids 0 0\n",
       {.cpu = v1("/cg/cpu"),
        .cpuacct = v1("/cg/cpu"),
        .memory = v2("/cg/unified"),
        .pids = v1("/cg/cpu"),
        .perf = v2("/cg/unified"),
        .unified = v2("/cg/unified")}},
      {"the first of two mounts, blanks in its name",
       "cgroup2 /a\\040b\\134 cgroup2 rw 0 0\ncgroup2 /c cgroup2 rw 0 0\n",
       {.cpu = v2("/a b\\"),
        .cpuacct = v2("/a b\\"),
        .memory = v2("/a b\\"),
        .pids = v2("/a b\\"),
        .perf = v2("/a b\\"),
        .unified = v2("/a b\\")}},
      {"named v1 alone", "cgroup /s cgroup rw,name=systemd 0 0\n", CgroupMounts{}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    for (const char* under : {"", "/"}) {
      const auto mounts = parse_cgroup_mounts(test.text, under);
      ASSERT_TRUE(mounts) << mounts.error().text;
      EXPECT_EQ(*mounts, test.want);
    }
  }
}

TEST(CgroupMountsText, LooksBelowTheHostsRootAlone) {
  const std::string text =
      "cgroup2 /sys/fs/cgroup cgroup2 ro 0 0\n"
      "cgroup2 /hostile/sys/fs/cgroup cgroup2 rw 0 0\n"
      "cgroup2 /host/sys/fs/cgroup cgroup2 rw 0 0\n";
  for (const char* under : {"/host", "/host/"}) {
    SCOPED_TRACE(under);
    EXPECT_EQ(parse_cgroup_mounts(text, under).value().unified, v2("/host/sys/fs/cgroup"));
  }
  const auto none = parse_cgroup_mounts(text, "/other");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kNotFound);
  EXPECT_EQ(none.error().text, "no cgroup file system is mounted under '/other'");
}

TEST(CgroupMountsText, AWordThatContainsAControllersNameIsNotThatController) {
  const auto mounts = parse_cgroup_mounts("cgroup /x cgroup rw,cpuset,name=cpu 0 0\n", "/");
  ASSERT_TRUE(mounts) << mounts.error().text;
  EXPECT_EQ(*mounts, CgroupMounts{});
}

TEST(CgroupMountsText, RefusesALineThatIsNoMount) {
  const auto mounts = parse_cgroup_mounts("cgroup2 /sys/fs/cgroup cgroup2\n", "/");
  ASSERT_FALSE(mounts);
  EXPECT_EQ(mounts.error().code, Errc::kInvalid);
  EXPECT_EQ(mounts.error().text, "mounts: line 'cgroup2 /sys/fs/cgroup cgroup2'");
  EXPECT_EQ(parse_cgroup_mounts(kOthers, "/").error().code, Errc::kNotFound);
  EXPECT_EQ(parse_cgroup_mounts("", "/").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace pinion::metrics
