// What an agent's main loop does for its connection, by hand and by the real clock.
#pragma once

#include <poll.h>

#include <chrono>

#include "nri-plugin/connection.h"

namespace pinion::test_support {

// One turn of it, which waits for the other side where that may have something to say.
inline void turn(nri::Connection& connection, int patience_ms) {
  using Clock = std::chrono::steady_clock;
  const short events = connection.wants_write() ? POLLIN | POLLOUT : POLLIN;
  pollfd fd{.fd = connection.fd(), .events = events, .revents = 0};
  if (fd.fd >= 0) poll(&fd, 1, patience_ms);
  if ((fd.revents & (POLLIN | POLLHUP | POLLERR)) != 0) connection.on_readable(Clock::now());
  if ((fd.revents & POLLOUT) != 0) connection.on_writable(Clock::now());
  connection.tick(Clock::now());
}

}  // namespace pinion::test_support
