#include "agent/main_loop.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "base/process/memory.h"
#include "base/signals.h"

namespace pinion::agent {
namespace {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

constexpr std::chrono::milliseconds kLongestWait{1000};

// Milliseconds for poll, rounded up so that a deadline has passed when poll returns.
int wait_time(TimePoint now, std::initializer_list<std::optional<TimePoint>> deadlines) {
  TimePoint until = now + kLongestWait;
  for (const auto& deadline : deadlines) until = std::min(until, deadline.value_or(until));
  if (until <= now) return 0;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(until - now).count());
}

}  // namespace

Status run_main_loop(Node& node, nri::Connection& connection, ViewPublisher& publisher,
                     const Fd& signals, const std::function<void()>& reload,
                     const std::function<Status()>& alone, ReadyFile& ready, Heartbeat& heart) {
  const auto is_synchronized = [&] { return connection.phase() == nri::Phase::kSynchronized; };
  bool busy = false;
  bool gave_back = false;
  connection.tick(Clock::now());
  node.finish(Clock::now());
  publisher.consider(Clock::now(), node, connection);
  while (!connection.finished()) {
    const short events = connection.wants_write() ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 3> fds = {{{.fd = signals.get(), .events = POLLIN, .revents = 0},
                                  {.fd = connection.fd(), .events = events, .revents = 0},
                                  {.fd = node.news_fd(), .events = POLLIN, .revents = 0}}};
    const int timeout =
        busy ? 0
             : wait_time(Clock::now(), {connection.deadline(), node.next_work(is_synchronized()),
                                        publisher.deadline()});
    if (poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR) {
      return failure(Errc::kInternal, std::string("poll: ") + std::strerror(errno));
    }
    if (const int signal = fds[0].revents != 0 ? read_signal(signals) : 0; signal == SIGHUP) {
      reload();
    } else if (signal != 0) {
      return {};
    }
    const TimePoint now = Clock::now();
    heart.beat(now);
    if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) connection.on_readable(now);
    if ((fds[1].revents & POLLOUT) != 0) connection.on_writable(now);
    if (fds[2].revents != 0) node.hear_news();
    connection.tick(Clock::now());  // to which the time that an answer took is known
    publisher.consider(now, node, connection);
    if (publisher.shown_synchronized()) ready.make(now);
    busy = node.work(now);
    node.finish(now);
    if (Status still = alone(); !still) return still;
    const bool synchronized = is_synchronized();
    // What the start needed, and the message that told all containers.
    if (synchronized && !busy && !gave_back) give_back_memory();
    gave_back = synchronized && (gave_back || !busy);
    if (synchronized && node.take_resync_request(now)) {
      connection.resync(now, "a container's cpuset can only be mended by the runtime");
    }
  }
  return {};
}

}  // namespace pinion::agent
