// Names of cgroups, from the runtime's path and from /proc/PID/cgroup.
#include "base/cgroup/paths.h"

#include <gtest/gtest.h>

namespace pinion::cgroup {
namespace {

TEST(Paths, PathOf) {
  struct Case {
    const char* name;
    const char* given;
    const char* path;  // nullptr: refused
  };
  const Case cases[] = {
      {"cgroupfs", "/kubepods/pod1/abc", "/kubepods/pod1/abc"},
      {"cgroupfs, relative", "kubepods/pod1/abc", "/kubepods/pod1/abc"},
      {"systemd", "kubepods-pod1.slice:cri-containerd:abc",
       "/kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope"},
      {"systemd, three levels", "kubepods-burstable-pod1_2.slice:cri-containerd:abc",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
       "cri-containerd-abc.scope"},
      {"systemd, one level", "system.slice:runc:abc", "/system.slice/runc-abc.scope"},
      {"systemd, no prefix", "system.slice::abc", "/system.slice/abc.scope"},
      {"a slice alone", "kubepods-burstable.slice", "/kubepods.slice/kubepods-burstable.slice"},
      {"a group called slice", "/kubepods/x.slice", "/kubepods/x.slice"},
      {"dots in a name are a name", "/kubepods/..pod/a..b", "/kubepods/..pod/a..b"},
      {"empty", "", nullptr},
      {"upwards", "/kubepods/../../etc", nullptr},
      {"upwards at the end", "/kubepods/..", nullptr},
      {"upwards alone", "..", nullptr},
      {"upwards in the scope's name", "system.slice:x:../../../etc", nullptr},
      {"upwards once it is put together", "system.slice::../x", nullptr},
      {"a path in the scope's name", "system.slice:cri:a/b", nullptr},
      {"a path as a slice", "a/b.slice:cri:abc", nullptr},
      {"upwards between", "/a/../b", nullptr},
      {"one colon", "system.slice:abc", nullptr},
      {"not a slice", "system:cri:abc", nullptr},
      {"the suffix alone", ".slice:cri:abc", nullptr},
      {"begins with a dash", "-a.slice:cri:abc", nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto path = path_of(c.given);
    ASSERT_EQ(path.has_value(), c.path != nullptr);
    if (path) {
      EXPECT_EQ(*path, c.path);
    } else {
      EXPECT_EQ(path.error().code, Errc::kInvalid);
    }
  }
}

TEST(Paths, PathInProc) {
  struct Case {
    const char* name;
    const char* text;
    int version;
    const char* path;  // nullptr: none
  };
  const Case cases[] = {
      {"v1", "12:memory:/m\n5:cpuset:/kubepods/a\n0::/u\n", 1, "/kubepods/a"},
      {"v1 joint", "5:cpu,cpuset,cpuacct:/a\n", 1, "/a"},
      {"v1, only a longer name", "5:cpuset2,xcpuset:/a\n", 1, nullptr},
      {"v2", "0::/kubepods.slice/x.scope\n", 2, "/kubepods.slice/x.scope"},
      {"v2 without newline", "0::/a", 2, "/a"},
      {"hybrid, v2 wanted", "5:cpuset:/a\n0::/b\n", 2, "/b"},
      {"hybrid, v1 wanted", "0::/b\n5:cpuset:/a\n", 1, "/a"},
      {"colons in the path", "0::/a:b:c\n", 2, "/a:b:c"},
      {"root", "0::/\n", 2, "/"},
      {"empty", "", 2, nullptr},
      {"garbage", "hello\n::\n:\n", 2, nullptr},
      {"not absolute", "0::a\n", 2, nullptr},
      {"outside our namespace", "0::/../other\n", 2, nullptr},
      {"a named hierarchy is not v2", "0:name=systemd:/a\n", 2, nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto path = path_in_proc(c.text, c.version);
    ASSERT_EQ(path.has_value(), c.path != nullptr);
    EXPECT_EQ(path.value_or(""), c.path == nullptr ? "" : c.path);
  }
}

TEST(CgroupPaths, CheckPath) {
  for (const std::string_view good : {"/", "/kubepods/pod1/id", "/a..b/..c"}) {
    EXPECT_TRUE(check_path(good)) << good;
  }
  using namespace std::string_view_literals;
  for (const std::string_view bad :
       {""sv, "kubepods"sv, "/.."sv, "/a/../b"sv, "/a/.."sv, "/a\0b"sv}) {
    EXPECT_EQ(check_path(bad).error().code, Errc::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace pinion::cgroup
