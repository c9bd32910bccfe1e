#include "agent/http/deadline_stream.h"

#include <poll.h>

#include <algorithm>

namespace pinion::agent {

using std::chrono::steady_clock;

DeadlineStream::DeadlineStream(int socket, const StreamLimits& limits)
    : socket_(socket), limits_(limits), read_until_(steady_clock::now() + limits.read) {}

bool DeadlineStream::wait(short events, TimePoint until) const {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd fd{.fd = socket_, .events = events, .revents = 0};
    const int ready = poll(&fd, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// The deadline counts for bytes that are there already, too: else a client that always has one more
// would be read for ever.
bool DeadlineStream::fill() {
  const std::size_t room = std::min(buffer_.size(), limits_.request_bytes - received_);
  while (room > 0 && wait(POLLIN, read_until_)) {
    const ssize_t n = recv(socket_, buffer_.data(), room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    at_ = 0;
    end_ = n > 0 ? static_cast<std::size_t>(n) : 0;
    received_ += end_;
    return n >= 0;
  }
  return false;
}

ssize_t DeadlineStream::read(char* to, std::size_t size) {
  if (at_ == end_ && !fill()) return -1;
  const std::size_t n = std::min(size, end_ - at_);
  std::copy_n(buffer_.data() + at_, n, to);
  at_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t DeadlineStream::write(const char* from, std::size_t size) {
  if (!write_until_) write_until_ = steady_clock::now() + limits_.write;
  std::size_t sent = 0;
  while (sent < size) {
    if (!wait(POLLOUT, *write_until_)) return -1;
    const ssize_t n = send(socket_, from + sent, size - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

// Nothing here depends on who asks.
void DeadlineStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void DeadlineStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace pinion::agent
