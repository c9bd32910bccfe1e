// pinion-lab-guard DIR CGROUP READY_FILE: makes a private mount namespace, touches READY_FILE, and
// waits for the end of standard input, which comes when the lab is done or its program is gone, by
// whatever way. Then it ends every process of the lab and removes its cgroups, mounts and files.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/fd.h"
#include "tests/lab/cgroup_tree.h"
#include "tests/lab/files.h"

namespace pinion::lab {
namespace {

namespace fs = std::filesystem;

// containerd and its shims put sockets here, wherever else one tells them to live.
constexpr const char* kFixedDir = "/run/containerd";

Status mount_tmpfs(const std::string& dir) {
  if (::mount("pinion-lab", dir.c_str(), "tmpfs", 0, "mode=0711") != 0) {
    return sys_failure("mount tmpfs on " + dir);
  }
  return {};
}

// Makes kFixedDir and holds it with a shared lock, so that of several labs the last one removes it.
Result<Fd> hold_fixed_dir() {
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (::mkdir(kFixedDir, 0711) != 0 && errno != EEXIST)
      return sys_failure("mkdir /run/containerd");
    Fd dir(::open(kFixedDir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat held = {};
    struct stat named = {};
    if (!dir.valid() || ::flock(dir.get(), LOCK_SH) != 0 || ::fstat(dir.get(), &held) != 0)
      continue;
    // Another lab may have removed it before the lock was ours.
    if (::stat(kFixedDir, &named) == 0 && named.st_ino == held.st_ino) return dir;
  }
  return failure(Errc::kUnavailable, "cannot hold /run/containerd");
}

// Root and the fixed directory become private file systems: fast, an overlay works on them, and
// nothing of the machine's own is touched.
Status make_namespace(const std::string& dir) {
  if (::unshare(CLONE_NEWNS) != 0) return sys_failure("unshare mounts");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return sys_failure("make mounts private");
  }
  std::error_code error;
  fs::create_directories(dir + "/root", error);
  if (Status done = mount_tmpfs(dir + "/root"); !done) return done;
  return mount_tmpfs(kFixedDir);
}

void wait_for_end_of_input() {
  std::array<char, 64> buffer{};
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return;
  }
}

// Processes whose environment has PINION_LAB=DIR: containerd, its shims and runcs, the agent.
std::vector<int> processes_of(const std::string& dir) {
  const std::string wanted = "PINION_LAB=" + dir;
  std::vector<int> pids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    int pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || *end != '\0' || pid == ::getpid()) continue;
    const auto environment = read_file(entry.path() / "environ");
    if (!environment) continue;
    std::istringstream variables(*environment);
    for (std::string variable; std::getline(variables, variable, '\0');) {
      if (variable == wanted) pids.push_back(pid);
    }
  }
  return pids;
}

// Kills until none is left: a dying containerd may still start one more shim.
bool end_processes(const std::string& dir, const CgroupTree& tree, const std::string& cgroup) {
  return eventually(Milliseconds(10000), [&] {
    auto pids = processes_of(dir);
    const auto contained = tree.processes_anywhere(cgroup);
    pids.insert(pids.end(), contained.begin(), contained.end());
    for (int pid : pids) {
      if (pid > 1) ::kill(pid, SIGKILL);
    }
    return pids.empty();
  });
}

// Innermost first. They are the namespace's own, but a directory under a mount cannot be removed.
void unmount_below(const std::string& dir) {
  const auto mounts = read_file("/proc/self/mounts");
  if (!mounts) return;
  std::vector<std::string> points;
  std::istringstream lines(*mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device;
    std::string point;
    words >> device >> point;
    if (point == dir || point.rfind(dir + "/", 0) == 0) points.push_back(point);
  }
  std::for_each(points.rbegin(), points.rend(),
                [](const std::string& point) { ::umount2(point.c_str(), MNT_DETACH); });
}

void remove_fixed_dir(const Fd& held) {
  ::umount2(kFixedDir, MNT_DETACH);
  if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) ::rmdir(kFixedDir);  // stays when in use
}

bool clean(const std::string& dir, const std::string& cgroup, const Fd& held) {
  bool clean = true;
  const auto tree = CgroupTree::discover();
  if (tree) {
    if (!end_processes(dir, *tree, cgroup)) {
      std::fprintf(stderr, "processes of the lab do not end\n");
      clean = false;
    }
    Status removed;
    const bool gone = eventually(Milliseconds(5000), [&] {
      removed = tree->remove(cgroup);
      return removed.has_value();
    });
    if (!gone) {
      std::fprintf(stderr, "%s\n", removed.error().text.c_str());
      clean = false;
    }
  }
  unmount_below(dir);
  remove_fixed_dir(held);
  std::error_code error;
  fs::remove_all(dir, error);
  if (error) {
    std::fprintf(stderr, "remove %s: %s\n", dir.c_str(), error.message().c_str());
    clean = false;
  }
  return clean;
}

int guard(const std::string& dir, const std::string& cgroup, const std::string& ready) {
  ::setsid();
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  const auto held = hold_fixed_dir();
  if (!held) {
    std::fprintf(stderr, "%s\n", held.error().text.c_str());
    return 1;
  }
  Status ok = make_namespace(dir);
  if (ok) ok = write_file(ready, "");
  if (!ok) std::fprintf(stderr, "%s\n", ok.error().text.c_str());
  if (ok) wait_for_end_of_input();
  return clean(dir, cgroup, *held) && ok ? 0 : 1;
}

}  // namespace
}  // namespace pinion::lab

int main(int argc, char** argv) {
  // The checks keep a slip from removing anything but a lab.
  if (argc != 4 || std::strstr(argv[1], "/pinion-lab-") == nullptr ||
      std::strncmp(argv[2], "/pinion-lab-", 12) != 0) {
    std::fprintf(stderr, "usage: %s DIR CGROUP READY_FILE (started by the lab)\n", argv[0]);
    return 2;
  }
  return pinion::lab::guard(argv[1], argv[2], argv[3]);
}
