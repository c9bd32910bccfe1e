#include "metrics/perf/refusal.h"

#include <cerrno>
#include <cstring>

namespace pinion::metrics::perf {
namespace {

constexpr int kKernelsMost = 2;  // distributions add to these

std::string help_for_permission(std::optional<int> paranoid) {
  const std::string level = paranoid ? std::to_string(*paranoid) : "not readable";
  return "counting by cgroup needs CAP_PERFMON (before Linux 5.8 CAP_SYS_ADMIN) or "
         "kernel.perf_event_paranoid of 0 or less, which is " +
         level +
         (paranoid > kKernelsMost ? ", and above 2, as on Debian, CAP_PERFMON is not enough: set 2"
                                  : "") +
         "; a seccomp profile without perf_event_open looks the same";
}

}  // namespace

Availability availability_of(int sys_errno, bool hardware, bool has_pmu) {
  switch (sys_errno) {
    case EACCES:
    case EPERM:
      return Availability::kNotPermitted;
    case EMFILE:
    case ENFILE:
      return Availability::kNoDescriptor;
    default:
      return hardware && !has_pmu ? Availability::kNoSuchPmu : Availability::kNotSupported;
  }
}

std::string explain(int sys_errno, std::optional<int> paranoid) {
  std::string error = std::strerror(sys_errno);
  switch (sys_errno) {
    case EACCES:
    case EPERM:
      return error + ": " + help_for_permission(paranoid);
    case EMFILE:
      return error + ": raise RLIMIT_NOFILE of the agent (LimitNOFILE=)";
    case ENFILE:
      return error + ": the machine has no descriptors left, raise fs.file-max";
    case ENOENT:
      return error +
             ": the cgroup is gone or not of perf's hierarchy, or this CPU has no such event";
    case ENODEV:
      return error + ": the CPU is offline, or has no such event";
    case ENOSYS:
      return error + ": the kernel is without perf events (CONFIG_PERF_EVENTS)";
    case EOPNOTSUPP:
      return error + ": this CPU has no such event";
    case EINVAL:
      return error + ": no such CPU, or more events than the PMU can count together";
    default:
      return error;
  }
}

}  // namespace pinion::metrics::perf
