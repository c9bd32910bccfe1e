#include "agent/main_loop.h"

#include <poll.h>

#include <algorithm>
#include <fstream>

#include "agent/status.h"

namespace pinion::agent {
namespace {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

constexpr std::chrono::milliseconds kLongestWait{1000};

// Milliseconds for poll, rounded up so that a deadline has passed when poll returns.
int wait_time(TimePoint now, std::optional<TimePoint> a, std::optional<TimePoint> b) {
  TimePoint until = now + kLongestWait;
  if (a) until = std::min(until, *a);
  if (b) until = std::min(until, *b);
  if (until <= now) return 0;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(until - now).count());
}

void make_ready_file(const std::string& path, Log& log) {
  std::ofstream file(path);
  file << "ready\n";
  if (!file.flush()) log.warn("cannot write the ready file", {{"path", path}});
}

}  // namespace

Status run_main_loop(Node& node, nri::Connection& connection, StatusServer& status,
                     const Fd& signals, const std::string& ready_file, Log& log) {
  bool ready = ready_file.empty();
  bool busy = false;
  std::vector<pollfd> fds;
  connection.tick(Clock::now());
  while (!connection.finished()) {
    fds.clear();
    fds.push_back({.fd = signals.get(), .events = POLLIN, .revents = 0});
    const short events = connection.wants_write() ? POLLIN | POLLOUT : POLLIN;
    fds.push_back({.fd = connection.fd(), .events = events, .revents = 0});
    status.watch(fds);
    const int timeout = busy ? 0 : wait_time(Clock::now(), connection.deadline(), node.next_work());
    if (poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR) {
      return failure(Errc::kInternal, std::string("poll: ") + std::strerror(errno));
    }
    if (fds[0].revents != 0) return {};
    const TimePoint now = Clock::now();
    if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) connection.on_readable(now);
    if ((fds[1].revents & POLLOUT) != 0) connection.on_writable(now);
    connection.tick(now);
    if (!ready && node.synchronized()) {
      ready = true;
      make_ready_file(ready_file, log);
    }
    status.serve(now, [&] { return status_json(node, connection); });
    busy = node.work(now);
    if (connection.phase() == nri::Phase::kSynchronized && node.take_resync_wish(now)) {
      connection.resync(now, "a container's cpuset can only be mended by the runtime");
    }
  }
  return {};
}

}  // namespace pinion::agent
