// For tests on the real kernel: a cgroup of their own, and a child in it that does as it is told.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/cgroup/mounts.h"
#include "base/fd.h"
#include "topology/cpuset.h"

namespace pinion::metrics::perf::test {

inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number behind `key` in /proc/PID/status.
inline std::uint64_t status_number(pid_t pid, const std::string& key) {
  const std::string text = read_text("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = text.find("\n" + key + ":");
  if (at == std::string::npos) return 0;
  return std::stoull(text.substr(at + key.size() + 2));
}

inline std::uint64_t switches_of(pid_t pid) {
  return status_number(pid, "voluntary_ctxt_switches") +
         status_number(pid, "nonvoluntary_ctxt_switches");
}

// Words of /proc/PID/stat after the name: 0 is the state, 7 minor and 9 major faults (proc(5)
// counts from 3).
inline std::string stat_word(pid_t pid, int index) {
  const std::string text = read_text("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int i = 0; i <= index; ++i) words >> word;
  return word;
}

// CPUs that this test may use.
inline topology::CpuSet own_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  topology::CpuSet cpus;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.add(cpu);
  }
  return cpus;
}

inline bool pin(pid_t pid, int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return sched_setaffinity(pid, sizeof(mask), &mask) == 0;
}

// A group at the top of the hierarchy that perf counts by; removed at the end.
class OwnCgroup {
 public:
  OwnCgroup() {
    const auto mounts = cgroup::find_mounts("/");
    if (!mounts || !mounts->perf.found()) {
      trouble_ = "no cgroup hierarchy for perf is mounted";
      return;
    }
    root_ = mounts->perf.directory;
    std::string pattern = root_ + "/pinion-perf-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      trouble_ = "no cgroup can be made below " + root_;
      return;
    }
    path_ = pattern;
  }
  ~OwnCgroup() { remove(); }
  OwnCgroup(const OwnCgroup&) = delete;
  OwnCgroup& operator=(const OwnCgroup&) = delete;

  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] Fd open() const {
    return Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  [[nodiscard]] bool take(pid_t pid) const {
    std::ofstream file(path_ + "/cgroup.procs");
    file << pid << std::flush;
    return file.good();
  }
  bool remove() {
    if (path_.empty() || rmdir(path_.c_str()) != 0) return false;
    path_.clear();
    return true;
  }

 private:
  std::string trouble_;
  std::string root_;
  std::string path_;
};

// A process that waits, asleep, and does one job each time that it is told. Between two jobs its
// counts stand still, so they can be compared exactly.
class Child {
 public:
  using Job = std::function<void()>;

  explicit Child(const std::vector<Job>& jobs) {
    void* shared =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int down[2];
    if (shared == MAP_FAILED || pipe2(down, O_CLOEXEC) != 0) return;
    shared_ = new (shared) Shared;
    from_parent_ = Fd(down[0]);
    to_child_ = Fd(down[1]);
    pid_ = fork();
    if (pid_ == 0) live(jobs);
  }
  ~Child() {
    end();
    if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Waits until the child waits for its next job: its one voluntary switch since it said so.
  void settle() const {
    while (shared_->waits != told_ + 1 ||
           status_number(pid_, "voluntary_ctxt_switches") <= shared_->switches) {
      ASSERT_NE(stat_word(pid_, 0), "Z");
      sched_yield();
    }
  }

  void run(std::size_t index) {
    const char order = static_cast<char>(index);
    ASSERT_EQ(write(to_child_.get(), &order, 1), 1);
    ++told_;
    settle();
  }

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  struct Shared {
    std::atomic<unsigned> waits{0};          // times that it went to wait
    std::atomic<std::uint64_t> switches{0};  // voluntary ones up to then
  };

  [[noreturn]] void live(const std::vector<Job>& jobs) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      shared_->switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
      ++shared_->waits;
      char order = 0;
      if (read(from_parent_.get(), &order, 1) != 1) _exit(0);
      jobs[static_cast<std::size_t>(order)]();
    }
  }

  Shared* shared_ = nullptr;
  Fd from_parent_;
  Fd to_child_;
  pid_t pid_ = -1;
  unsigned told_ = 0;
};

}  // namespace pinion::metrics::perf::test
