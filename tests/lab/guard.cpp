#include "tests/lab/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

namespace pinion::lab {
namespace {

// What the signal handler may touch: guards at work in this process. A slot is free at pid 0.
struct Slot {
  std::atomic<int> pid{0};
  std::atomic<int> lifeline{-1};
};
std::array<Slot, 8> slots;  // NOLINT: a signal handler has nothing but globals

void remember(int pid, int lifeline) {
  for (auto& slot : slots) {
    int free = 0;
    if (!slot.pid.compare_exchange_strong(free, pid)) continue;
    slot.lifeline = lifeline;
    return;
  }
}

void forget(int pid) {
  for (auto& slot : slots) {
    if (slot.pid != pid) continue;
    slot.lifeline = -1;
    slot.pid = 0;
  }
}

void on_signal(int number) {
  for (auto& slot : slots) {
    if (const int lifeline = slot.lifeline; lifeline >= 0) ::close(lifeline);
  }
  for (auto& slot : slots) {
    if (const int pid = slot.pid; pid != 0) ::waitpid(pid, nullptr, 0);
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

Result<Guard> Guard::start(const std::string& dir, const std::string& cgroup,
                           const std::string& log) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return sys_failure("pipe");
  const Fd read_end(ends[0]);
  Guard guard;
  guard.lifeline_ = Fd(ends[1]);
  guard.log_ = log;
  const std::string ready = dir + "/guard.ready";
  auto process =
      Process::start({.argv = {program_folder() + "/pinion-lab-guard", dir, cgroup, ready},
                      .env = {},
                      .log = log,
                      .mount_namespace = -1,
                      .standard_input = read_end.get()});
  if (!process) return failure(process.error());
  guard.process_ = std::move(*process);
  const bool is_ready = eventually(Milliseconds(30'000), [&] {
    return ::access(ready.c_str(), F_OK) == 0 || !guard.process_.running();
  });
  if (!is_ready || !guard.process_.running()) {
    return failure(Errc::kUnavailable, "lab guard: not ready: " + tail_of(log, 5));
  }
  const std::string path = "/proc/" + std::to_string(guard.process_.pid()) + "/ns/mnt";
  guard.mount_namespace_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!guard.mount_namespace_.valid()) return sys_failure("open " + path);
  remember(guard.process_.pid(), guard.lifeline_.get());
  return guard;
}

Guard::~Guard() {
  if (Status done = finish(); !done) std::fprintf(stderr, "%s\n", done.error().text.c_str());
}

Status Guard::finish() {
  if (process_.pid() == 0) return {};
  forget(process_.pid());
  lifeline_.reset();
  mount_namespace_.reset();  // an open one would keep the mounts
  const auto status = process_.wait(Milliseconds(30000));
  if (!status) return failure(Errc::kInternal, "lab guard: not done after 30 s");
  if (*status != 0) return failure(Errc::kInternal, "lab guard: " + tail_of(log_, 10));
  return {};
}

void clean_up_on_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  ::sigfillset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

}  // namespace pinion::lab
