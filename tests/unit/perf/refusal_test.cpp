#include "metrics/perf/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace pinion::metrics::perf {
namespace {

struct RefusalCase {
  const char* name;
  int sys_errno;
  bool hardware;
  bool has_pmu;
  Availability expected;
  const char* help;  // a part of the explanation
};

class Refusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refusal, Table) {
  const RefusalCase& c = GetParam();
  EXPECT_EQ(availability_of(c.sys_errno, c.hardware, c.has_pmu), c.expected);
  EXPECT_THAT(explain(c.sys_errno, 3), testing::HasSubstr(c.help));
}

INSTANTIATE_TEST_SUITE_P(
    Errors, Refusal,
    testing::Values(
        RefusalCase{"acces", EACCES, true, true, Availability::kNotPermitted, "CAP_PERFMON"},
        RefusalCase{"perm", EPERM, false, false, Availability::kNotPermitted, "seccomp"},
        RefusalCase{"level", EACCES, true, true, Availability::kNotPermitted, "which is 3"},
        RefusalCase{"emfile", EMFILE, true, true, Availability::kNoDescriptor, "RLIMIT_NOFILE"},
        RefusalCase{"enfile", ENFILE, true, false, Availability::kNoDescriptor, "fs.file-max"},
        RefusalCase{"noent_with_pmu", ENOENT, true, true, Availability::kNotSupported,
                    "no such event"},
        RefusalCase{"noent_without", ENOENT, true, false, Availability::kNoSuchPmu, "cgroup"},
        RefusalCase{"nodev", ENODEV, true, true, Availability::kNotSupported, "offline"},
        RefusalCase{"opnotsupp", EOPNOTSUPP, true, true, Availability::kNotSupported,
                    "no such event"},
        RefusalCase{"software", ENOENT, false, false, Availability::kNotSupported, "no such event"},
        RefusalCase{"nosys", ENOSYS, false, false, Availability::kNotSupported,
                    "CONFIG_PERF_EVENTS"},
        RefusalCase{"inval", EINVAL, true, true, Availability::kNotSupported, "together"},
        RefusalCase{"unexpected", EIO, true, true, Availability::kNotSupported, "error"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Refusal, UnknownParanoidLevel) {
  EXPECT_THAT(explain(EACCES, std::nullopt), testing::HasSubstr("not readable"));
}

}  // namespace
}  // namespace pinion::metrics::perf
