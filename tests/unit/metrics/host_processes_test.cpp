// Whose a process is, by the text of its /proc/PID/cgroup. Trees: tests/unit/ctl/doctor,
// tests/unit/agent/host_daemons_test.cpp.
#include "metrics/host_processes.h"

#include <gtest/gtest.h>

namespace pinion::metrics {
namespace {

TEST(HostUnit, IsWhereSystemdHasPutIt) {
  EXPECT_EQ(host_unit("0::/system.slice/ssh.service\n"), "/system.slice/ssh.service");
  EXPECT_EQ(host_unit("2:cpuset:/\n1:name=systemd:/system.slice/a.service\n"),
            "/system.slice/a.service");
  EXPECT_EQ(host_unit("2:cpuset:/other\n0::/\n"), "/other");
  EXPECT_EQ(host_unit("0::/\n"), "/");
  EXPECT_EQ(host_unit(""), "/");
}

TEST(HostUnit, IsNoneInAPod) {
  for (const char* text :
       {"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-a.scope\n",
        "3:cpuset:/kubepods/burstable/pod1/a\n1:name=systemd:/x\n", "0::/lab-1/kubepods/pod1/a\n",
        "0::/kubelet-kubepods.slice/a\n", "0::/kubepods\n"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(host_unit(text), std::nullopt);
  }
  EXPECT_EQ(host_unit("0::/mykubepods/a\n"), "/mykubepods/a");
  EXPECT_EQ(host_unit("0::/kubepodsalike/a\n"), "/kubepodsalike/a");
}

}  // namespace
}  // namespace pinion::metrics
