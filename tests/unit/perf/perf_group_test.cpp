#include "metrics/perf/perf_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/perf/fake_kernel.h"

namespace pinion::metrics::perf {
namespace {

using test::counted;
using test::FakeKernel;
using testing::HasSubstr;

const Group kGroup = counted({Event::kCycles, Event::kInstructions, Event::kL3Misses});

TEST(PerfGroup, OpensByCgroupAndReadsAllAtOnce) {
  FakeKernel kernel;
  const auto group = PerfGroup::open(kernel, kGroup, Target::cgroup_directory(7), 3);
  ASSERT_TRUE(group) << group.error().text;
  EXPECT_EQ(group->descriptors(), 3U);
  for (const auto& [fd, event] : kernel.events()) {
    EXPECT_EQ(event.pid, 7);
    EXPECT_EQ(event.cpu, 3);
    EXPECT_EQ(event.flags, static_cast<unsigned long>(PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC));
    EXPECT_EQ(event.attr.inherit, 0U);
    EXPECT_EQ(event.attr.exclude_kernel, 0U);
    // Only the leader waits, and has been switched on by now.
    EXPECT_EQ(event.attr.disabled, event.leader < 0 ? 1U : 0U);
    EXPECT_TRUE(event.counts);
  }
  kernel.count(3, Event::kCycles, 500, 20, 10);
  kernel.count(3, Event::kL3Misses, 9, 0, 0);
  std::vector<Reading> readings;
  ASSERT_TRUE(group->read(readings));
  EXPECT_EQ(readings, (std::vector<Reading>{{500, 20, 10}, {0, 20, 10}, {9, 20, 10}}));
  EXPECT_EQ(kernel.reads, 1);
}

TEST(PerfGroup, OneAloneNeedsNoStart) {
  FakeKernel kernel;
  const auto group = PerfGroup::open(kernel, counted({Event::kTaskClock}), Target::self(), kAnyCpu);
  ASSERT_TRUE(group);
  EXPECT_EQ(kernel.calls, 1);
  EXPECT_EQ(kernel.events().begin()->second.flags,
            static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC));
}

TEST(PerfGroup, ClosesEachEventOnce) {
  FakeKernel kernel;
  {
    auto first = PerfGroup::open(kernel, kGroup, Target::cgroup_directory(7), 0);
    auto second = PerfGroup::open(kernel, kGroup, Target::cgroup_directory(7), 1);
    PerfGroup moved = std::move(*first);
    EXPECT_EQ(kernel.open_events(), 6U);
    moved = std::move(*second);
    EXPECT_EQ(kernel.open_events(), 3U);
  }
  EXPECT_EQ(kernel.open_events(), 0U);
  EXPECT_EQ(kernel.closed_twice, 0);
}

struct GroupCase {
  const char* name;
  int sys_errno;
  Errc code;
  const char* help;
};

class PerfGroupRefused : public testing::TestWithParam<GroupCase> {};

TEST_P(PerfGroupRefused, AllOrNothing) {
  FakeKernel kernel;
  kernel.paranoid_level = 4;
  kernel.refuse = [](const perf_event_attr& attr, int) {
    return attr.type == PERF_TYPE_RAW ? GetParam().sys_errno : 0;
  };
  const auto group = PerfGroup::open(kernel, kGroup, Target::cgroup_directory(7), 0);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().sys_errno, GetParam().sys_errno);
  EXPECT_EQ(group.error().code, GetParam().code);
  EXPECT_THAT(group.error().text, HasSubstr(GetParam().help));
  EXPECT_THAT(group.error().text, HasSubstr("open l3-misses: "));
  EXPECT_EQ(kernel.open_events(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Errors, PerfGroupRefused,
    testing::Values(GroupCase{"not_permitted", EACCES, Errc::kDenied,
                              "perf_event_paranoid of 0 or less, which is 4, and above 2"},
                    GroupCase{"seccomp", EPERM, Errc::kDenied, "seccomp"},
                    GroupCase{"no_descriptor", EMFILE, Errc::kExhausted, "LimitNOFILE"},
                    GroupCase{"none_on_the_machine", ENFILE, Errc::kExhausted, "fs.file-max"},
                    GroupCase{"gone", ENOENT, Errc::kNotFound, "the cgroup is gone"},
                    GroupCase{"too_many", EINVAL, Errc::kInvalid, "together"}),
    [](const auto& tested) { return tested.param.name; });

TEST(PerfGroup, AnOfflineCpuEndsIt) {
  FakeKernel kernel;
  const auto group = PerfGroup::open(kernel, kGroup, Target::cgroup_directory(7), 1);
  kernel.take_offline(1);
  std::vector<Reading> readings = {{1, 2, 3}};
  const Status status = group->read(readings);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().sys_errno, ENODEV);
  EXPECT_THAT(status.error().text, HasSubstr("offline"));
  EXPECT_EQ(readings, (std::vector<Reading>{{1, 2, 3}}));
}

TEST(PerfGroup, ALeaderAloneIsNotTakenForTheGroup) {
  class Alone : public FakeKernel {
    ssize_t read(int, void* buffer, std::size_t) override {
      const std::uint64_t words[] = {1, 50, 50, 77};
      std::memcpy(buffer, words, sizeof(words));
      return sizeof(words);
    }
  } kernel;
  const auto group = PerfGroup::open(kernel, kGroup, Target::cgroup_directory(7), 1);
  std::vector<Reading> readings;
  const Status status = group->read(readings);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().sys_errno, ENODEV);
  EXPECT_TRUE(readings.empty());
}

}  // namespace
}  // namespace pinion::metrics::perf
