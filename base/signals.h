// The signals that end a daemon, as a descriptor to poll.
#pragma once

#include <pthread.h>
#include <sys/signalfd.h>

#include <csignal>

#include "base/error.h"
#include "base/fd.h"

namespace pinion {

// SIGTERM and SIGINT. Before any thread is started, so that all of them leave these signals to the
// descriptor. Errors: of the system.
inline Result<Fd> take_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return sys_failure("block signals");
  Fd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return sys_failure("signalfd");
  return fd;
}

}  // namespace pinion
