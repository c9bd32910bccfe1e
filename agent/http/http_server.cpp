#include "agent/http/http_server.h"

namespace pinion::agent {
namespace {

constexpr int kAnswering = 2;            // threads
constexpr std::size_t kMaxWaiting = 64;  // connections that wait for one of them

Site::Pages pages_for(const HttpOptions& options, const net::ListenAddress& address) {
  if (options.page_anywhere) return Site::Pages::kEverybody;
  return address.loopback() ? Site::Pages::kThisMachine : Site::Pages::kNobody;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandlers handlers) {
  auto listener = net::listen_on(options.listen);
  if (!listener) return failure(std::move(listener.error()));
  const Site::Pages pages = pages_for(options, listener->address);
  std::unique_ptr<HttpServer> server(new HttpServer(options.limits, std::move(handlers), pages));
  auto acceptor = net::Acceptor::start(
      std::move(*listener), [to = server.get()](Fd socket) { to->take(std::move(socket)); });
  if (!acceptor) return failure(std::move(acceptor.error()));
  server->acceptor_ = std::move(*acceptor);
  return server;
}

HttpServer::HttpServer(net::StreamLimits limits, HttpHandlers handlers, Site::Pages pages)
    : limits_(limits), site_(std::move(handlers), pages) {
  for (int i = 0; i < kAnswering; ++i) {
    threads_.emplace_back([this] { answer_all(); });
  }
}

HttpServer::~HttpServer() {
  acceptor_.reset();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    // Whoever waits for one of these wakes up.
    for (const int socket : active_) shutdown(socket, SHUT_RDWR);
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HttpServer::take(Fd socket) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) return;
  waiting_.push_back(std::move(socket));
  work_.notify_one();
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
  net::DeadlineStream stream(socket.get(), limits_);
  site_.serve_one(stream);
  net::close_gently(socket.get());
}

}  // namespace pinion::agent
