#include "tests/bench/nri_bench_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>

namespace pinion::bench {

Result<PluginProcess> PluginProcess::start(const std::vector<std::string>& program,
                                           const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : program) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return sys_failure("fork");
  if (pid > 0) return PluginProcess(pid);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (getppid() != parent || file < 0 || dup2(file, STDERR_FILENO) < 0) _exit(126);
  execv(arguments[0], arguments.data());
  _exit(127);
}

PluginProcess::PluginProcess(PluginProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)) {}

PluginProcess::~PluginProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

double PluginProcess::cpu_ms() const {
  clockid_t clock{};
  timespec time{};
  if (pid_ <= 0 || clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return -1;
  }
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

std::int64_t PluginProcess::number_in(const char* file, const std::string& key) const {
  std::ifstream lines("/proc/" + std::to_string(pid_) + "/" + file);
  std::string word;
  while (lines >> word) {
    std::int64_t value = 0;
    if (word == key && lines >> value) return value;
  }
  return -1;
}

Memory PluginProcess::memory() const {
  return {.rss_kib = number_in("status", "VmRSS:"),
          .peak_kib = number_in("status", "VmHWM:"),
          .anonymous_kib = number_in("status", "RssAnon:"),
          .threads = number_in("status", "Threads:")};
}

Writes PluginProcess::writes() const {
  return {.calls = number_in("io", "syscw:"), .bytes = number_in("io", "write_bytes:")};
}

Status PluginProcess::end() {
  if (pid_ <= 0) return failure(Errc::kInternal, "the plugin was not running");
  // Whatever it did before this signal (a crash, say) shows in its status.
  kill(pid_, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      return failure(Errc::kUnavailable, "the plugin does not end on SIGTERM");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) return {};
  return failure(Errc::kInternal, "the plugin ended with wait status " + std::to_string(status));
}

}  // namespace pinion::bench
