#include "base/net/deadline_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/net/http.h"

namespace pinion::net {
namespace {

constexpr std::size_t kFirstPiece = 65536;  // of a body

}  // namespace

using std::chrono::milliseconds;
using std::chrono::steady_clock;

DeadlineStream::DeadlineStream(int socket, const StreamLimits& limits)
    : socket_(socket), limits_(limits), read_until_(steady_clock::now() + limits.head) {}

bool DeadlineStream::next_request(milliseconds idle) {
  read_until_ = steady_clock::now() + idle;
  if (at_ == end_ && !fill()) return false;
  read_until_ = steady_clock::now() + limits_.head;
  write_until_.reset();
  return true;
}

Result<std::string> DeadlineStream::read_head() {
  std::string head;
  while (head.size() <= limits_.head_bytes) {
    if (at_ == end_ && !fill()) {
      return failure(Errc::kUnavailable, "the connection or the time of the headers has ended");
    }
    const std::size_t before = head.size();
    head.append(buffer_.data() + at_, end_ - at_);
    const std::size_t end = head.find(kHeadEnd, before - std::min(before, kHeadEnd.size() - 1));
    if (end == std::string::npos) {
      at_ = end_;
      continue;
    }
    head.resize(end + kHeadEnd.size());
    at_ += head.size() - before;
    if (head.size() > limits_.head_bytes) break;
    return head;
  }
  return failure(Errc::kExhausted,
                 "more than " + std::to_string(limits_.head_bytes) + " bytes of headers");
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

// The deadline counts for bytes that are there already, too: else a client that always has one more
// would be read for ever.
ssize_t DeadlineStream::receive_some(char* to, std::size_t size) {
  while (steady_clock::now() < read_until_) {
    const Try tried = receive(to, size);
    if (tried.bytes >= 0) return tried.bytes;
    if (tried.again_after == 0 || !wait(tried.again_after, read_until_)) return -1;
  }
  return -1;
}

// False: nothing more comes.
bool DeadlineStream::fill() {
  const ssize_t n = receive_some(buffer_.data(), buffer_.size());
  at_ = 0;
  end_ = n > 0 ? static_cast<std::size_t>(n) : 0;
  return n > 0;
}

// As receive_some(), of what is in the buffer first.
ssize_t DeadlineStream::read(char* to, std::size_t size) {
  if (at_ == end_) return receive_some(to, size);
  const std::size_t n = std::min(size, end_ - at_);
  std::copy_n(buffer_.data() + at_, n, to);
  at_ += n;
  return static_cast<ssize_t>(n);
}

Result<std::string> DeadlineStream::read_body(
    std::size_t bytes, milliseconds time, std::size_t spare,
    const std::function<bool(std::size_t bytes)>& may_take) {
  read_until_ = steady_clock::now() + time;
  write_until_.reset();  // a "100 Continue" is no part of the answer
  std::string body;
  body.reserve(spare);
  for (std::size_t have = 0; have < bytes;) {
    if (have == body.size()) {
      const std::size_t size = std::min(bytes, std::max(kFirstPiece, 2 * have));
      if (may_take && !may_take(size)) {
        return failure(Errc::kExhausted,
                       "no room for a body of " + std::to_string(bytes) + " bytes");
      }
      body.reserve(size + spare);
      body.resize(size);
    }
    const ssize_t n = read(body.data() + have, body.size() - have);
    if (n <= 0) {
      return failure(Errc::kUnavailable, "the body ended after " + std::to_string(have) + " of " +
                                             std::to_string(bytes) + " bytes");
    }
    have += static_cast<std::size_t>(n);
  }
  return body;
}

void DeadlineStream::stop_reading() const {
  shutdown(socket_, SHUT_RD);
}

bool DeadlineStream::write(std::string_view bytes) {
  if (!write_until_) write_until_ = steady_clock::now() + limits_.write;
  while (!bytes.empty() && steady_clock::now() < *write_until_) {
    const Try tried = transmit(bytes.data(), bytes.size());
    if (tried.bytes >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(tried.bytes));
    } else if (tried.again_after == 0 || !wait(tried.again_after, *write_until_)) {
      return false;
    }
  }
  return bytes.empty();
}

}  // namespace pinion::net
