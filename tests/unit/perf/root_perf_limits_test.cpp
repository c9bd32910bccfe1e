// What the real kernel refuses: each in a process of its own, which gives up its rights.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/open_files.h"
#include "metrics/perf/limits.h"
#include "metrics/perf/probe.h"
#include "tests/support/own_process.h"
#include "tests/unit/perf/real_kernel.h"

namespace pinion::metrics::perf {
namespace {

using test_support::in_own_process;

bool set_descriptors(rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool counts(KernelPerf& kernel) {
  return PerfGroup::open(kernel, {{Event::kTaskClock, {PERF_TYPE_SOFTWARE, 1, 0}}}, Target::self(),
                         kAnyCpu)
      .has_value();
}

TEST(Perf_Limits, AHardLimitThatIsTooSmallIsNamed) {
  EXPECT_EQ(in_own_process([]() -> std::string {
              if (!set_descriptors(64, 512)) return "setrlimit";
              if (!ensure_descriptors(412, 100)) return "512 fit in 512";
              const Status status = ensure_descriptors(1000, 20);
              if (status) return "1020 do not fit in 512";
              if (status.error().code != Errc::kExhausted) return "another error";
              if (status.error().text.find("1020") == std::string::npos) return status.error().text;
              return open_files()->soft == 512 ? "" : "not raised as far as it goes";
            }),
            "");
}

TEST(Root_Perf_Refusals, WithoutRightsItIsNotPermitted) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give it up";
  KernelPerf kernel;
  if (kernel.paranoid().value_or(0) <= 0) GTEST_SKIP() << "perf_event_paranoid permits everything";
  const test::OwnCgroup group;
  if (!group.trouble().empty()) GTEST_SKIP() << group.trouble();
  const Fd directory = group.open();
  const Target target = Target::cgroup_directory(directory.get());
  if (!PerfGroup::open(kernel, {{Event::kTaskClock, {PERF_TYPE_SOFTWARE, 1, 0}}}, target, 0)) {
    GTEST_SKIP() << "perf does not work for root either";
  }
  EXPECT_EQ(in_own_process([&]() -> std::string {
              if (setresuid(65534, 65534, 65534) != 0) return "setresuid";
              const Probed probed =
                  probe(kernel, {.machine = {}, .target = target, .cpu = 0, .hardware = false});
              const EventAvailability& first = probed.events.front();
              return first.availability == Availability::kNotPermitted ? "" : first.detail;
            }),
            "");
}

TEST(Root_Perf_Refusals, WithoutDescriptorsItSaysSo) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  KernelPerf kernel;
  if (!counts(kernel)) GTEST_SKIP() << "perf does not work here";
  EXPECT_EQ(in_own_process([&]() -> std::string {
              if (!set_descriptors(3, 3)) return "setrlimit";
              const Probed probed = probe(kernel, {.hardware = false});
              const EventAvailability& first = probed.events.front();
              return first.availability == Availability::kNoDescriptor ? "" : first.detail;
            }),
            "");
}

TEST(Root_Perf_Refusals, EventsLeaveDescriptorsToTheRestOfTheAgent) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  KernelPerf kernel;
  if (!counts(kernel)) GTEST_SKIP() << "perf does not work here";
  EXPECT_EQ(in_own_process([&]() -> std::string {
              if (!set_descriptors(128, 128)) return "setrlimit";
              const Probed enough = probe(kernel, {.hardware = false});
              if (enough.events.front().availability == Availability::kNoDescriptor) return "128";
              KernelPerf modest(127);
              const Probed probed = probe(modest, {.hardware = false});
              const EventAvailability& first = probed.events.front();
              return first.availability == Availability::kNoDescriptor ? "" : first.detail;
            }),
            "");
}

}  // namespace
}  // namespace pinion::metrics::perf
