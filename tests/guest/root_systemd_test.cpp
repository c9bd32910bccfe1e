// Slices of a real systemd whose property AllowedCPUs is set. It is the first process of namespaces
// of its own, below a group of the guest's, and is asked on its private socket.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "agent/cgroup/cpuset_files.h"
#include "agent/cgroup/qos_groups.h"
#include "base/cgroup/group_files.h"
#include "base/whole_file.h"
#include "tests/support/fake_systemd/settled.h"

namespace pinion::cgroup {
namespace {

using engine::Cause;
using engine::CpuSet;
using engine::Enforced;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kSystemd = "/lib/systemd/systemd";
constexpr const char* kUnits = "/run/systemd/system";
constexpr const char* kReady = "/run/pinion-systemd-ready";
constexpr const char* kSlice = "kubepods-burstable.slice";
constexpr const char* kPath = "/kubepods.slice/kubepods-burstable.slice";
constexpr const char* kTop = "/pinion-systemd";
// The guest is emulated; these are for calls that are answered.
constexpr systemd::Timing kPatient{.limit = std::chrono::milliseconds(60'000)};

void put(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  EXPECT_TRUE(file.flush()) << path;
}

// In the first process of a PID namespace: from here to systemd itself. Its group becomes the root
// of its cgroup namespace.
[[noreturn]] void become_systemd(const std::string& group) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  put(group + "/cgroup.procs", "0");
  if (unshare(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC) != 0) _exit(101);
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  mount("proc", "/proc", "proc", 0, nullptr);
  umount2("/sys/fs/cgroup", MNT_DETACH);
  mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, nullptr);
  setenv("container", "pinion", 1);
  setenv("NOTIFY_SOCKET", kReady, 1);
  const std::string unit = std::string("--unit=") + kSlice;
  execl(kSystemd, kSystemd, "--system", unit.c_str(), "--log-target=console", "--log-level=notice",
        nullptr);
  _exit(102);
}

// NOLINTNEXTLINE(readability-identifier-naming): the name says what it needs
class Root_Systemd : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (access(kSystemd, X_OK) != 0) GTEST_SKIP() << "needs systemd's program";
    if (access("/run/systemd/private", F_OK) == 0) GTEST_SKIP() << "systemd runs here already";
    const auto found = find_hierarchy("/", "cpuset");
    if (!found || found->version != 2 || !found->writable) {
      GTEST_SKIP() << "needs a writable cgroup v2 with cpusets: run it by scripts/guest.sh";
    }
    hierarchy_ = *found;
    hierarchy_.mount += kTop;
    ASSERT_EQ(mkdir(hierarchy_.mount.c_str(), 0755), 0);
    std::filesystem::create_directories(kUnits);
    put(std::string(kUnits) + "/" + kSlice, "[Slice]\nAllowedCPUs=0-3\n");
    put(std::string(kUnits) + "/below.service",
        "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/bin/true\n"
        "Slice=kubepods-burstable.slice\n");
    ASSERT_TRUE(start());
  }

  void TearDown() override {
    if (process_ <= 0) return;
    put(hierarchy_.mount + "/cgroup.kill", "1");
    waitpid(process_, nullptr, 0);
    unlink("/run/systemd/private");
    unlink(kReady);
  }

  // systemd says when it has started its unit.
  bool start() {
    const Fd ready(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    std::string(kReady).copy(name.sun_path, sizeof name.sun_path - 1);
    const auto* address = reinterpret_cast<const sockaddr*>(&name);
    const timeval limit{.tv_sec = 120, .tv_usec = 0};
    if (bind(ready.get(), address, sizeof name) != 0 ||
        setsockopt(ready.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) {
      return false;
    }
    if (unshare(CLONE_NEWPID) != 0) return false;  // of this process's children
    process_ = fork();
    if (process_ == 0) become_systemd(hierarchy_.mount);
    std::array<char, 4096> text{};
    while (true) {
      const ssize_t size = recv(ready.get(), text.data(), text.size(), 0);
      if (size <= 0) return false;
      const std::string_view said(text.data(), static_cast<std::size_t>(size));
      if (said.find("READY=1") != std::string_view::npos) return true;
    }
  }

  static std::vector<systemd::Address> addresses() {
    return {{.text = "unix:path=/run/systemd/private", .through_bus = false}};
  }
  [[nodiscard]] CpusetFiles agent() const {
    return {hierarchy_, "/proc", QosWriter(addresses(), kPatient)};
  }
  static Enforced bring(CpusetFiles& files, const char* cpus, Cause cause = Cause::kStart) {
    return test_support::enforce_until_quiet(files,
                                             {.id = kSlice,
                                              .cgroups_path = kSlice,
                                              .cpuset = {.cpus = *CpuSet::parse(cpus), .mems = {}},
                                              .cause = cause,
                                              .qos_group = true});
  }
  [[nodiscard]] Fd group() const {
    return open_directory(AT_FDCWD, (hierarchy_.mount + kPath).c_str());
  }
  [[nodiscard]] std::string file() const {
    const auto read = read_set<CpuSet>(group().get(), "cpuset.cpus");
    return read ? read->to_string() : read.error().text;
  }
  void narrow_and_give_back() const;
  static void start_below() { EXPECT_EQ(std::system("systemctl start below.service"), 0); }

  Hierarchy hierarchy_;
  pid_t process_ = -1;
};

void Root_Systemd::narrow_and_give_back() const {
  ASSERT_EQ(file(), "0-3") << "systemd has written its property";

  // What this is for: a file that is written past systemd does not stay.
  ASSERT_TRUE(write_file(group().get(), "cpuset.cpus", "2"));
  start_below();
  EXPECT_EQ(file(), "0-3");

  CpusetFiles files = agent();
  const Enforced done = bring(files, "0-1,4-7");
  EXPECT_TRUE(done.written) << done.error;
  EXPECT_EQ(done.slice_error, "");
  EXPECT_EQ(done.limit->to_string(), "0-3");
  EXPECT_EQ(file(), "0-1");
  start_below();
  EXPECT_EQ(file(), "0-1");
  EXPECT_EQ(std::system("systemctl daemon-reload"), 0);
  start_below();
  EXPECT_EQ(file(), "0-1");

  CpusetFiles next = agent();  // as after a kill -9
  EXPECT_EQ(bring(next, "2-7").limit->to_string(), "0-3");
  EXPECT_EQ(file(), "2-3");
  EXPECT_TRUE(bring(next, "0-7").written);
  EXPECT_EQ(file(), "0-3");

  EXPECT_TRUE(bring(next, "0-2").written);
  SliceProperties released(addresses(), kPatient);
  const auto widened = widen_narrowed(hierarchy_, released);
  EXPECT_THAT(widened.groups, ElementsAre(kPath));
  EXPECT_THAT(widened.failed, IsEmpty());
  start_below();
  EXPECT_EQ(file(), "0-3");
}

// systemd's socket takes none but processes that it can see.
void in_its_pid_namespace(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "failed above";
}

TEST_F(Root_Systemd, ASliceIsNarrowedByItsPropertyAndGivenBack) {
  in_its_pid_namespace([this] { narrow_and_give_back(); });
}

}  // namespace
}  // namespace pinion::cgroup
