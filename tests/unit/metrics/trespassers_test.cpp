// How an operator is told who of the host may run on exclusive CPUs. Trees:
// tests/unit/agent/host_daemons_test.cpp, tests/unit/ctl/doctor.
#include "metrics/trespassers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::metrics {
namespace {

using testing::StartsWith;

const std::string kHash = "6f0e1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7";

HostProcess process(std::string unit, std::string name, int pid) {
  return {.unit = std::move(unit), .name = std::move(name), .pid = pid, .cpus = {4}};
}

Trespassers among(const std::vector<HostProcess>& processes) {
  return trespassers(processes, {4, 5}, {0, 1});
}

TEST(Trespassers, AreNamedWithWhatKeepsThemOff) {
  struct Case {
    const char* name;
    HostProcess one;
    std::string said;
    std::string keep_off;
  };
  const std::string docker = "docker container 6f0e1a2b3c4d (nginx 812)";
  const std::string update = "docker update --cpuset-cpus=0-1 6f0e1a2b3c4d; or let";
  const Case cases[] = {
      {"a service", process("/system.slice/ssh.service", "sshd", 640), "ssh.service (sshd 640)",
       "systemctl set-property system.slice AllowedCPUs=0-1; or let"},
      {"in no group", process("/", "sshd", 640), "sshd (640)", "taskset -a -p -c 0-1 640; or let"},
      {"in a group of nobody's", process("/batch/job1", "sort", 640), "job1 (sort 640)",
       "taskset -a -p -c 0-1 640; or let"},
      {"Docker under systemd", process("/system.slice/docker-" + kHash + ".scope", "nginx", 812),
       docker, update},
      {"Docker without", process("/docker/" + kHash, "nginx", 812), docker, update},
      {"a group inside", process("/docker/" + kHash + "/init", "nginx", 812), docker, update},
      {"Podman", process("/machine.slice/libpod-" + kHash + ".scope/container", "nginx", 812),
       "podman container 6f0e1a2b3c4d (nginx 812)",
       "podman update --cpuset-cpus=0-1 6f0e1a2b3c4d; or let"},
      {"another runtime's", process("/default/" + kHash, "nginx", 812),
       "default container 6f0e1a2b3c4d (nginx 812)", "taskset -a -p -c 0-1 812; or let"},
      {"a short number", process("/default/6f0e", "nginx", 812), "6f0e (nginx 812)",
       "taskset -a -p -c 0-1 812; or let"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Trespassers found = among({c.one});
    EXPECT_EQ(found.processes, 1U);
    EXPECT_EQ(found.units, c.said);
    EXPECT_THAT(found.keep_off, StartsWith(c.keep_off));
  }
}

TEST(Trespassers, EachHasACommand) {
  const Trespassers found = among({
      process("/system.slice/ssh.service", "sshd", 1),
      process("/system.slice/ssh.service", "sshd", 2),
      process("/user.slice/user-0.slice/session-1.scope", "bash", 3),
      process("/docker/" + kHash, "nginx", 4),
      process("/", "dropbear", 5),
      process("/", "dropbear", 6),
  });
  EXPECT_EQ(found.processes, 6U);
  EXPECT_EQ(found.units,
            "docker container 6f0e1a2b3c4d (nginx 4), dropbear (5 and 1 more), session-1.scope "
            "(bash 3), ssh.service (sshd 1 and 1 more)");
  EXPECT_THAT(
      found.keep_off,
      StartsWith("docker update --cpuset-cpus=0-1 6f0e1a2b3c4d; systemctl set-property "
                 "system.slice AllowedCPUs=0-1; systemctl set-property user.slice "
                 "AllowedCPUs=0-1; for p in 5 6; do taskset -a -p -c 0-1 $p; done; or let"));
}

TEST(Trespassers, OfManyTheFirstAreNamed) {
  std::vector<HostProcess> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(
        process("/docker/" + std::to_string(10 + i) + kHash.substr(2), "nginx", 100 + i));
    many.push_back(process("/", "dropbear", 200 + i));
  }
  const Trespassers found = among(many);
  EXPECT_THAT(found.units, testing::EndsWith(" and 16 more"));
  EXPECT_THAT(found.keep_off, testing::HasSubstr("100e1a2b3c4d; docker"));
  EXPECT_THAT(found.keep_off, testing::HasSubstr("; for p in 200 201"));
  EXPECT_THAT(found.keep_off, testing::HasSubstr(" 215; do taskset"));
  EXPECT_THAT(found.keep_off, testing::HasSubstr("; done; the same for 19 more"));
}

TEST(Trespassers, WithoutOtherCpusSomeAreToBeReserved) {
  const auto found = trespassers({process("/", "sshd", 640)}, {4}, {});
  EXPECT_THAT(found.keep_off, StartsWith("reserve CPUs for them; or let"));
  EXPECT_EQ(trespassers({process("/", "sshd", 640)}, {5}, {0}).processes, 0U);
}

}  // namespace
}  // namespace pinion::metrics
