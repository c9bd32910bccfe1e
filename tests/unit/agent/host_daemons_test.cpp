#include "agent/host_daemons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include "metrics/host_processes.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::agent {
namespace {

using test_support::cpus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

class HostDaemons : public testing::Test {
 protected:
  // Seven services, one of them on the reserved CPUs alone, a container and a thread of the kernel.
  void SetUp() override {
    ASSERT_TRUE(test_support::write_tree(R"(
proc/[1-7]/status = Name: daemon{n}
proc/[1-7]/status = VmSize: 8 kB
proc/[1-7]/cgroup = 0::/system.slice/s{n}.service
proc/[1-6]/task/1/status = Cpus_allowed_list: 0-7
proc/7/task/7/status = Cpus_allowed_list: 0-1
proc/8/status = Name: rank
proc/8/status = VmSize: 8 kB
proc/8/cgroup = 0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-a.scope
proc/8/task/8/status = Cpus_allowed_list: 0-7
proc/9/status = Name: kthreadd
proc/9/cgroup = 0::/
proc/9/task/9/status = Cpus_allowed_list: 0-7
)",
                                         dir_.path()));
  }
  [[nodiscard]] std::string root() const { return dir_.path().string(); }

  test_support::TempDir dir_;
};

TEST_F(HostDaemons, AreNamedAFewWithTheWayToKeepThemOff) {
  const auto line = warning_of_host_daemons(root(), cpus("2-7"), cpus("0-1"));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->level, Note::Level::kWarn);
  EXPECT_THAT(
      line->fields,
      ElementsAre(
          Pair("processes", "6"),
          Pair("of",
               "s1.service (daemon1 1), s2.service (daemon2 2), s3.service (daemon3 3), "
               "s4.service (daemon4 4), s5.service (daemon5 5) and 1 more"),
          Pair(
              "keep_off",
              StartsWith("systemctl set-property system.slice AllowedCPUs=0-1; or let the kernel")),
          Pair("see", "pinionctl doctor")));
}

TEST_F(HostDaemons, AreKeptOffNoCpuWhereNoneIsReserved) {
  const auto line = warning_of_host_daemons(root(), cpus("0-7"), {});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->fields, testing::Contains(Pair("processes", "7")));
  EXPECT_THAT(line->fields, testing::Contains(Pair("keep_off", StartsWith("reserve CPUs"))));
}

TEST_F(HostDaemons, AreNotWarnedOfWhereNoneMayRunThere) {
  EXPECT_FALSE(warning_of_host_daemons(root(), cpus("8-9"), cpus("0-1")));
}

TEST_F(HostDaemons, AreNotLookedForOnceTheProgramIsToEnd) {
  std::stop_source end;
  end.request_stop();
  EXPECT_TRUE(metrics::host_processes(root(), end.get_token()).value().empty());
  EXPECT_FALSE(warning_of_host_daemons(root(), cpus("2-7"), cpus("0-1"), end.get_token()));
}

// The pipe is read as the first thread's file, and by then the end is asked for.
TEST_F(HostDaemons, OfAProcessWithManyThreadsNoMoreAreReadOnceTheProgramIsToEnd) {
  const std::string first = root() + "/proc/7/task/1";
  std::filesystem::create_directory(first);
  ASSERT_EQ(mkfifo((first + "/status").c_str(), 0600), 0);
  std::stop_source end;
  const std::jthread asks([&] {
    const std::ofstream opened(first + "/status");
    end.request_stop();
  });
  const auto processes = metrics::host_processes(root(), end.get_token()).value();
  ASSERT_EQ(processes.size(), 7U);
  EXPECT_EQ(processes.back().cpus, cpus(""));
}

TEST_F(HostDaemons, AreNotCalledKeptOffWhereNobodyCouldLook) {
  const auto line = warning_of_host_daemons(root() + "/nowhere", cpus("2-7"), cpus("0-1"));
  ASSERT_TRUE(line);
  EXPECT_THAT(line->fields, testing::Contains(Pair("unknown", HasSubstr("No such file"))));
}

}  // namespace
}  // namespace pinion::agent
