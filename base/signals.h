// The signals that a daemon obeys, as a descriptor to poll, and the one that it does not.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <initializer_list>

#include "base/error.h"
#include "base/fd.h"

namespace pinion {

// These. Before any thread is started, so that all of them leave these signals to the descriptor.
// From then on writing to who is gone is an error and no more: libraries (OpenSSL, libcurl) write
// with write(2), for which SIGPIPE ends the program. Errors: of the system.
inline Result<Fd> take_signals(std::initializer_list<int> taken = {SIGTERM, SIGINT}) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : taken) sigaddset(&signals, signal);
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return sys_failure("block signals");
  std::signal(SIGPIPE, SIG_IGN);
  Fd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return sys_failure("signalfd");
  return fd;
}

// Whether one has come, or comes within this time; `other` ends the waiting when it is readable,
// unless it is empty.
inline bool wait_for_signal(const Fd& signals, std::chrono::milliseconds most,
                            const Fd& other = {}) {
  std::array<pollfd, 2> fds{{{.fd = signals.get(), .events = POLLIN, .revents = 0},
                             {.fd = other.get(), .events = POLLIN, .revents = 0}}};
  return poll(fds.data(), fds.size(), static_cast<int>(most.count())) > 0 && fds[0].revents != 0;
}

// The one that has come, of those that were taken; 0: none.
inline int read_signal(const Fd& signals) {
  signalfd_siginfo came{};
  return read(signals.get(), &came, sizeof came) == sizeof came ? static_cast<int>(came.ssi_signo)
                                                                : 0;
}

}  // namespace pinion
