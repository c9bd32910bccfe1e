#include "agent/http/http_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/net/acceptor.h"

namespace pinion::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPause{100};  // after a shortage of descriptors or memory
constexpr int kAtOnce = 16;          // connections taken before others have their turn

Site::Pages pages_for(const HttpOptions& options, const net::ListenAddress& address) {
  if (options.page_anywhere) return Site::Pages::kEverybody;
  return address.loopback() ? Site::Pages::kThisMachine : Site::Pages::kNobody;
}

Fd spare_descriptor() {
  return Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandlers handlers,
                                                      net::ConnectionFigures& figures) {
  auto listener = net::listen_on(options.listen);
  if (!listener) return failure(std::move(listener.error()));
  Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return sys_failure("make eventfd");
  return std::unique_ptr<HttpServer>(
      new HttpServer(options, std::move(handlers), std::move(*listener), std::move(wake), figures));
}

HttpServer::HttpServer(const HttpOptions& options, HttpHandlers handlers, net::Listener listener,
                       Fd wake, net::ConnectionFigures& figures)
    : limits_(options.limits),
      site_(std::move(handlers), pages_for(options, listener.address)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      spare_(spare_descriptor()),
      peers_(options.limits.peers),
      figures_(figures) {
  thread_ = std::thread([this] { run(); });
}

HttpServer::~HttpServer() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
  figures_.open -= connections_.size();
}

// Milliseconds until something is overdue, rounded up; -1: nothing will be.
int HttpServer::wait_time(TimePoint now) const {
  auto until = TimePoint::max();
  if (accept_again_ > now) until = accept_again_;
  for (const auto& [key, connection] : connections_) until = std::min(until, connection.until);
  if (until == TimePoint::max()) return -1;
  constexpr milliseconds longest{60'000};
  const auto left = std::chrono::ceil<milliseconds>(until - now);
  return static_cast<int>(std::clamp(left, milliseconds(0), longest).count());
}

void HttpServer::run() {
  std::vector<pollfd> fds;
  for (;;) {
    TimePoint now = steady_clock::now();
    fds.clear();
    fds.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    const bool accepting = now >= accept_again_;
    fds.push_back({.fd = accepting ? listener_.socket.get() : -1, .events = POLLIN, .revents = 0});
    for (const auto& [key, connection] : connections_) {
      const short events = connection.answering() ? POLLOUT : POLLIN;
      fds.push_back({.fd = key, .events = events, .revents = 0});
    }
    poll(fds.data(), fds.size(), wait_time(now));
    if (fds[0].revents != 0) return;
    now = steady_clock::now();
    for (std::size_t i = 2; i < fds.size(); ++i) {
      if (fds[i].revents != 0) advance(fds[i].fd, now);
    }
    close_overdue(now);
    if (fds[1].revents != 0) accept_some(now);
  }
}

void HttpServer::accept_some(TimePoint now) {
  for (int i = 0; i < kAtOnce && accept_one(now); ++i) {
  }
}

// False: nobody is waiting any more, or the machine is short of something.
bool HttpServer::accept_one(TimePoint now) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  const auto accept = [&] {
    return Fd(accept4(listener_.socket.get(), reinterpret_cast<sockaddr*>(&address), &size,
                      SOCK_NONBLOCK | SOCK_CLOEXEC));
  };
  Fd socket = accept();
  if (!socket.valid() && net::short_of_resources()) {
    ++figures_.shortages;
    spare_.reset();
    socket = accept();
    if (!socket.valid()) accept_again_ = now + kPause;
  }
  if (!socket.valid()) return false;
  const int key = socket.get();
  ++figures_.accepted;
  ++figures_.open;
  Connection& connection = connections_[key];
  connection.socket = std::move(socket);
  connection.until = now + limits_.read;
  if (const auto out = peers_.add(key, net::peer_of(address))) {
    ++figures_.closed_for_room;
    close(*out);
  }
  advance(key, now);  // most have sent their request by now
  return true;
}

// Reads or writes what is possible without waiting. May close the connection, and others.
void HttpServer::advance(int key, TimePoint now) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;  // closed for another one in this round
  Connection& connection = found->second;
  if (!connection.answering()) {
    if (!read_request(connection)) return close(key);
    if (connection.request.find(net::kHeadEnd) == std::string::npos) return;
    answer(key, connection, now);
  }
  if (!send_answer(connection)) close(key);
}

// False: the connection is at its end, or the request too long.
bool HttpServer::read_request(Connection& connection) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    connection.request.append(buffer.data(), static_cast<std::size_t>(n));
    if (connection.request.find(net::kHeadEnd) != std::string::npos) return true;
    if (connection.request.size() > limits_.request_bytes) return false;
  }
}

void HttpServer::answer(int key, Connection& connection, TimePoint now) {
  std::string& head = connection.request;
  head.resize(head.find(net::kHeadEnd) + net::kHeadEnd.size());
  const auto request = net::read_request(head);
  net::HttpAnswer answer = request ? site_.answer(*request) : request.error();
  connection.request = {};
  connection.head = net::head_of(answer);
  if (!request || request->method != "HEAD") connection.body = std::move(answer.body);
  connection.until = now + limits_.write;
  unsent_ += connection.answer_size();
  make_room_for_answers(key);
}

void HttpServer::make_room_for_answers(int newest) {
  while (unsent_ > limits_.unsent_bytes) {
    const auto out = peers_.dispensable(newest);
    if (!out) return;
    ++figures_.closed_for_room;
    close(*out);
  }
}

// False: it is at its end, well or not.
bool HttpServer::send_answer(Connection& connection) {
  while (connection.sent < connection.answer_size()) {
    const std::size_t of_head = std::min(connection.sent, connection.head.size());
    const std::size_t of_body = connection.sent - of_head;
    std::array<iovec, 2> parts{iovec{.iov_base = connection.head.data() + of_head,
                                     .iov_len = connection.head.size() - of_head},
                               iovec{.iov_base = connection.body.data() + of_body,
                                     .iov_len = connection.body.size() - of_body}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t n = sendmsg(connection.socket.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    connection.sent += static_cast<std::size_t>(n);
  }
  net::close_gently(connection.socket.get());
  return false;
}

void HttpServer::close_overdue(TimePoint now) {
  std::vector<int> overdue;
  for (const auto& [key, connection] : connections_) {
    if (connection.until <= now) overdue.push_back(key);
  }
  for (const int key : overdue) {
    ++figures_.closed_as_slow;
    close(key);
  }
}

void HttpServer::close(int key) {
  peers_.remove(key);
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  unsent_ -= found->second.answer_size();
  connections_.erase(found);
  --figures_.open;
  if (!spare_.valid()) spare_ = spare_descriptor();
}

}  // namespace pinion::agent
