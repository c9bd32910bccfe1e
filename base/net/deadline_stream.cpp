#include "base/net/deadline_stream.h"

#include <poll.h>

#include <algorithm>

namespace pinion::net {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

DeadlineStream::DeadlineStream(int socket, const StreamLimits& limits)
    : socket_(socket),
      limits_(limits),
      read_until_(steady_clock::now() + limits.read),
      left_(limits.request_bytes) {}

bool DeadlineStream::next_request(milliseconds idle) {
  read_until_ = steady_clock::now() + idle;
  left_ = limits_.request_bytes;
  if (at_ == end_ && (!fill() || at_ == end_)) return false;
  read_until_ = steady_clock::now() + limits_.read;
  write_until_.reset();
  return true;
}

void DeadlineStream::expect(std::size_t bytes, milliseconds time) {
  left_ += bytes;
  read_until_ = steady_clock::now() + time;
  write_until_.reset();  // a "100 Continue" is no part of the answer
}

bool DeadlineStream::wait(short events, TimePoint until) const {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd fd{.fd = socket_, .events = events, .revents = 0};
    const int ready = poll(&fd, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

DeadlineStream::Try DeadlineStream::receive(char* to, std::size_t size) {
  for (;;) {
    const ssize_t n = recv(socket_, to, size, 0);
    if (n >= 0) return {.bytes = n};
    if (errno == EINTR) continue;
    const bool later = errno == EAGAIN;
    return {.again_after = later ? short{POLLIN} : short{0}};
  }
}

DeadlineStream::Try DeadlineStream::transmit(const char* from, std::size_t size) {
  for (;;) {
    const ssize_t n = send(socket_, from, size, MSG_NOSIGNAL);
    if (n >= 0) return {.bytes = n};
    if (errno == EINTR) continue;
    const bool later = errno == EAGAIN;
    return {.again_after = later ? short{POLLOUT} : short{0}};
  }
}

// As read(). The deadline counts for bytes that are there already, too: else a client that always
// has one more would be read for ever.
ssize_t DeadlineStream::receive_some(char* to, std::size_t size) {
  size = std::min(size, left_);
  while (size > 0 && steady_clock::now() < read_until_) {
    const Try tried = receive(to, size);
    if (tried.bytes >= 0) {
      left_ -= static_cast<std::size_t>(tried.bytes);
      return tried.bytes;
    }
    if (tried.again_after == 0 || !wait(tried.again_after, read_until_)) return -1;
  }
  return -1;
}

bool DeadlineStream::fill() {
  const ssize_t n = receive_some(buffer_.data(), buffer_.size());
  at_ = 0;
  end_ = n > 0 ? static_cast<std::size_t>(n) : 0;
  return n >= 0;
}

ssize_t DeadlineStream::read(char* to, std::size_t size) {
  if (at_ == end_) {
    if (size >= buffer_.size()) return receive_some(to, size);
    if (!fill()) return -1;
  }
  const std::size_t n = std::min(size, end_ - at_);
  std::copy_n(buffer_.data() + at_, n, to);
  at_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t DeadlineStream::write(const char* from, std::size_t size) {
  if (!write_until_) write_until_ = steady_clock::now() + limits_.write;
  std::size_t sent = 0;
  while (sent < size && steady_clock::now() < *write_until_) {
    const Try tried = transmit(from + sent, size - sent);
    if (tried.bytes >= 0) {
      sent += static_cast<std::size_t>(tried.bytes);
    } else if (tried.again_after == 0 || !wait(tried.again_after, *write_until_)) {
      return -1;
    }
  }
  return sent == size ? static_cast<ssize_t>(size) : -1;
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

}  // namespace pinion::net
