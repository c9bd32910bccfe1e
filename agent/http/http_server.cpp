#include "agent/http/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>

namespace pinion::agent {
namespace {

constexpr int kAnswering = 2;            // threads
constexpr std::size_t kMaxWaiting = 64;  // connections that wait for one of them
constexpr int kPauseMs = 100;            // after a shortage of descriptors or memory

// A socket closed with bytes unread would be reset, and the answer lost with it.
void close_gently(int socket) {
  shutdown(socket, SHUT_WR);
  std::array<char, 4096> rest{};
  for (int i = 0; i < 16 && recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) > 0; ++i) {
  }
}

Site::Pages pages_for(const HttpOptions& options, const ListenAddress& address) {
  if (options.page_anywhere) return Site::Pages::kEverybody;
  return address.loopback() ? Site::Pages::kThisMachine : Site::Pages::kNobody;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandlers handlers) {
  auto listener = listen_on(options.listen);
  if (!listener) return failure(std::move(listener.error()));
  Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return sys_failure("make eventfd");
  const Site::Pages pages = pages_for(options, listener->address);
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(*listener), std::move(wake),
                                                    options.limits, std::move(handlers), pages));
}

HttpServer::HttpServer(Listener listener, Fd wake, StreamLimits limits, HttpHandlers handlers,
                       Site::Pages pages)
    : listener_(std::move(listener)),
      wake_(std::move(wake)),
      limits_(limits),
      site_(std::move(handlers), pages) {
  threads_.emplace_back([this] { accept_all(); });
  for (int i = 0; i < kAnswering; ++i) {
    threads_.emplace_back([this] { answer_all(); });
  }
}

HttpServer::~HttpServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    // Whoever waits for one of these wakes up.
    for (const int socket : active_) shutdown(socket, SHUT_RDWR);
  }
  work_.notify_all();
  eventfd_write(wake_.get(), 1);
  for (std::thread& thread : threads_) thread.join();
}

void HttpServer::accept_all() {
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = listener_.socket.get(), .events = POLLIN, .revents = 0}};
    const int ready = poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return;
    if (ready > 0 && !accept_one() && poll(fds.data(), 1, kPauseMs) > 0) return;
  }
}

// False: the machine is short of something, so the same would happen at once again.
bool HttpServer::accept_one() {
  Fd socket(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) {
    return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
  }
  const std::lock_guard lock(mutex_);
  if (waiting_.size() < kMaxWaiting) {
    waiting_.push_back(std::move(socket));
    work_.notify_one();
  }
  return true;
}

void HttpServer::answer_all() {
  for (;;) {
    Fd socket;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      socket = std::move(waiting_.front());
      waiting_.pop_front();
      active_.insert(socket.get());
    }
    answer(socket);
    // Out of the list before the number can be another socket's.
    const std::lock_guard lock(mutex_);
    active_.erase(socket.get());
  }
}

void HttpServer::answer(const Fd& socket) {
  DeadlineStream stream(socket.get(), limits_);
  site_.serve_one(stream);
  close_gently(socket.get());
}

}  // namespace pinion::agent
