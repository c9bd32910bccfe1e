#include "agent/api/door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "agent/api/client_hello.h"
#include "base/net/acceptor.h"

namespace pinion::agent::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kShortagePause{100};
constexpr milliseconds kEndingLook{20};    // whether gRPC has closed what is at its end
constexpr milliseconds kSocketLook{1000};  // whether the unix socket is still there
constexpr int kAtOnce = 16;                // connections taken before others have their turn

// Of a number that may be closed, and another thread's socket, by now. Not by fstat(2), which
// ThreadSanitizer takes for a use of that socket.
ino_t inode_of(int fd) {
  struct stat found {};
  return ::fstatat(fd, "", &found, AT_EMPTY_PATH) == 0 ? found.st_ino : 0;
}

ino_t inode_of(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

}  // namespace

Result<std::unique_ptr<Door>> Door::open(const Endpoint& endpoint, DoorLimits limits,
                                         net::ConnectionFigures& figures) {
  Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return sys_failure("make eventfd");
  std::unique_ptr<Door> door(new Door(endpoint, limits, std::move(wake), figures));
  if (Status done = door->listen(); !done) return failure(std::move(done.error()));
  return door;
}

Door::Door(Endpoint endpoint, DoorLimits limits, Fd wake, net::ConnectionFigures& figures)
    : endpoint_(std::move(endpoint)),
      limits_(limits),
      wake_(std::move(wake)),
      figures_(figures),
      waiting_(limits.waiting),
      peers_(limits.peers) {}

Door::~Door() {
  close();
  figures_.open -= guests_.size() + newcomers_.size();
}

Status Door::listen() {
  auto listener = listen_at(endpoint_);
  if (!listener) return failure(std::move(listener.error()));
  listener_ = std::move(*listener);
  if (endpoint_.is_unix()) socket_inode_ = inode_of(endpoint_.path);
  return {};
}

void Door::start(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  thread_ = std::thread([this] { run(); });
}

void Door::close() {
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  if (!listener_.valid()) return;
  listener_.reset();
  if (endpoint_.is_unix() && inode_of(endpoint_.path) == socket_inode_) {
    ::unlink(endpoint_.path.c_str());
  }
}

void Door::proved(std::string_view peer) {
  if (endpoint_.is_unix()) return;  // all are
  const std::string plain = plain_peer(peer);
  const std::lock_guard lock(mutex_);
  for (auto& [key, guest] : guests_) {
    if (guest.proved || guest.ending || guest.peer != plain) continue;
    guest.proved = true;
    if (peers_.prove(key)) {
      ++figures_.closed_for_room;
      end(guest);
    }
    return;
  }
}

bool Door::has_room() {
  const std::lock_guard lock(mutex_);
  return ending_ < limits_.most_ending;
}

int Door::wait_time(TimePoint now) {
  auto until = TimePoint::max();
  if (endpoint_.is_unix()) until = next_look_;
  if (accept_again_ > now) until = std::min(until, accept_again_);
  for (const auto& [key, newcomer] : newcomers_) until = std::min(until, newcomer.until);
  const std::lock_guard lock(mutex_);
  if (ending_ > 0) until = std::min(until, now + kEndingLook);
  for (const auto& [key, guest] : guests_) {
    if (!guest.proved && !guest.ending) until = std::min(until, guest.until);
  }
  if (until == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(until - now);
  return static_cast<int>(std::max(left, milliseconds(0)).count());
}

void Door::run() {
  std::vector<pollfd> fds;
  for (;;) {
    TimePoint now = steady_clock::now();
    const bool accepting = now >= accept_again_ && has_room();
    fds.clear();
    fds.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    fds.push_back({.fd = accepting ? listener_.get() : -1, .events = POLLIN, .revents = 0});
    for (const auto& [key, newcomer] : newcomers_) {
      fds.push_back({.fd = key, .events = POLLIN, .revents = 0});
    }
    const std::size_t guests_from = fds.size();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, guest] : guests_) {
        if (!guest.ending) fds.push_back({.fd = key, .events = 0, .revents = 0});
      }
    }
    poll(fds.data(), fds.size(), wait_time(now));
    if (fds[0].revents != 0) return;
    now = steady_clock::now();
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = guests_from; i < fds.size(); ++i) {
        // gRPC shuts a socket down before it closes it, so its copy here is told.
        if (fds[i].revents != 0) end(guests_.at(fds[i].fd));
      }
    }
    look_at_guests(now);
    for (std::size_t i = 2; i < guests_from; ++i) {
      if (fds[i].revents != 0) listen_to(fds[i].fd, now);
    }
    close_late_newcomers(now);
    mind_socket(now);
    for (int i = 0; fds[1].revents != 0 && i < kAtOnce && accept_one(now); ++i) {
    }
  }
}

void Door::end(Guest& guest) {
  if (guest.ending) return;
  guest.ending = true;
  ++ending_;
  peers_.remove(guest.copy.get());
  ::shutdown(guest.copy.get(), SHUT_RDWR);  // gRPC reads the end, and closes
}

void Door::look_at_guests(TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (auto at = guests_.begin(); at != guests_.end();) {
    Guest& guest = at->second;
    if (!guest.proved && !guest.ending && guest.until <= now) {
      ++figures_.closed_as_slow;
      end(guest);
    }
    // The number may be another socket's by now, but its inode is not while we hold a copy.
    if (guest.ending && inode_of(guest.given) != guest.inode) {
      --ending_;
      --figures_.open;
      at = guests_.erase(at);
    } else {
      ++at;
    }
  }
}

// False: nobody is waiting any more, there are enough at their end, or the machine is short of
// something.
bool Door::accept_one(TimePoint now) {
  if (!has_room()) return false;
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  Fd socket(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size,
                    SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) {
    if (net::short_of_resources()) {
      ++figures_.shortages;
      accept_again_ = now + kShortagePause;
    }
    return false;
  }
  ++figures_.accepted;
  if (endpoint_.is_unix()) {
    let_in(std::move(socket), address, now);
    return true;
  }
  ++figures_.open;
  const int key = socket.get();
  newcomers_.emplace(key, Newcomer{std::move(socket), address, now + limits_.prove});
  if (const auto out = waiting_.add(key, net::peer_of(address))) {
    ++figures_.closed_for_room;
    drop(*out);
  }
  listen_to(key, now);  // many have spoken by now
  return true;
}

// To gRPC with it, once its first message is there; away with it, if it cannot be one.
void Door::listen_to(int newcomer, TimePoint now) {
  const auto found = newcomers_.find(newcomer);
  if (found == newcomers_.end()) return;  // made room for another in this round
  std::array<std::uint8_t, kRecordHeader> header{};
  const ssize_t n = recv(newcomer, header.data(), header.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return drop(newcomer);
  const auto size = client_hello_size({header.data(), static_cast<std::size_t>(n)});
  if (!size) {
    ++figures_.closed_as_garbage;
    return drop(newcomer);
  }
  int there = 0;
  if (ioctl(newcomer, FIONREAD, &there) != 0) return drop(newcomer);
  const int wanted = static_cast<int>(*size);
  const bool whole = there >= wanted;
  // poll(2) wakes up for no less: a byte now and then costs nothing.
  const int wake = whole ? 1 : wanted;
  setsockopt(newcomer, SOL_SOCKET, SO_RCVLOWAT, &wake, sizeof(wake));
  if (!whole) {
    pollfd ended{.fd = newcomer, .events = POLLRDHUP, .revents = 0};
    if (poll(&ended, 1, 0) > 0) drop(newcomer);  // no more will come
    return;
  }
  Newcomer one = std::move(found->second);
  drop(newcomer);
  let_in(std::move(one.socket), one.address, std::max(one.until, now));
}

void Door::close_late_newcomers(TimePoint now) {
  for (auto at = newcomers_.begin(); at != newcomers_.end();) {
    const auto next = std::next(at);
    if (at->second.until <= now) {
      ++figures_.closed_as_slow;
      drop(at->first);
    }
    at = next;
  }
}

void Door::drop(int newcomer) {
  waiting_.remove(newcomer);
  if (newcomers_.erase(newcomer) > 0) --figures_.open;
}

void Door::let_in(Fd socket, const sockaddr_storage& address, TimePoint until) {
  Fd copy(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    ++figures_.shortages;
    accept_again_ = steady_clock::now() + kShortagePause;
    return;
  }
  ++figures_.open;
  {
    const std::lock_guard lock(mutex_);
    const int key = copy.get();
    const ino_t inode = inode_of(key);
    auto& guest = guests_[key];
    guest = Guest{std::move(copy), socket.get(), inode, peer_text(address), until, false, false};
    if (const auto out = peers_.add(key, net::peer_of(address))) {
      ++figures_.closed_for_room;
      end(guests_.at(*out));
    }
    if (endpoint_.is_unix()) {
      guest.proved = true;
      if (peers_.prove(key)) {
        ++figures_.closed_for_room;
        end(guest);
      }
    }
  }
  hand_over_(socket.release());
}

// A state directory that somebody has removed is made again, with the socket.
void Door::mind_socket(TimePoint now) {
  if (!endpoint_.is_unix() || now < next_look_) return;
  next_look_ = now + kSocketLook;
  if (inode_of(endpoint_.path) != 0) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(endpoint_.path).parent_path(), ignored);
  (void)listen();  // tried again at the next look
}

}  // namespace pinion::agent::api
