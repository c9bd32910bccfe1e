#include "tests/unit/kube/connect_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace pinion::kube {
namespace {

// Waits for one of `sockets` to have something to read: which, or -1 once `end` is readable.
int next_readable(const std::array<int, 2>& sockets, int end) {
  std::array<pollfd, 3> all{pollfd{.fd = end, .events = POLLIN, .revents = 0},
                            pollfd{.fd = sockets[0], .events = POLLIN, .revents = 0},
                            pollfd{.fd = sockets[1], .events = POLLIN, .revents = 0}};
  for (;;) {
    poll(all.data(), all.size(), -1);
    if (all[0].revents != 0) return -1;
    if (all[1].revents != 0) return sockets[0];
    if (all[2].revents != 0) return sockets[1];
  }
}

// What is there now; empty when the other side has closed.
std::string receive_some(int socket) {
  std::array<char, 16384> part{};
  const ssize_t n = recv(socket, part.data(), part.size(), 0);
  return {part.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd room{.fd = socket, .events = POLLOUT, .revents = 0};
      poll(&room, 1, -1);
    } else {
      return false;
    }
  }
  return true;
}

Fd connect_to_port(int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    socket.reset();
  }
  return socket;
}

}  // namespace

ConnectProxy::ConnectProxy(int target_port, std::string answer)
    : target_port_(target_port), answer_(std::move(answer)), end_(eventfd(0, EFD_CLOEXEC)) {
  auto listener = net::listen_on("127.0.0.1:0");
  if (!listener) throw std::runtime_error(listener.error().text);
  auto acceptor = net::Acceptor::start(*std::move(listener), [this](Fd client) {
    clients_.push_back(std::move(client));
    threads_.emplace_back([this, socket = clients_.back().get()] { serve(socket); });
  });
  if (!acceptor) throw std::runtime_error(acceptor.error().text);
  acceptor_ = *std::move(acceptor);
}

ConnectProxy::~ConnectProxy() {
  acceptor_.reset();
  eventfd_write(end_.get(), 1);
  for (auto& thread : threads_) thread.join();
}

std::string ConnectProxy::address() const {
  return acceptor_->address().to_string();
}

std::vector<std::string> ConnectProxy::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void ConnectProxy::serve(int client) {
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (next_readable({client, -1}, end_.get()) < 0) return;
    const std::string more = receive_some(client);
    if (more.empty()) return;
    head += more;
  }
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(head);
  }
  if (answer_ == kAccepted) {
    tunnel(client);
  } else {
    send_all(client, answer_);
  }
  shutdown(client, SHUT_RDWR);
}

void ConnectProxy::tunnel(int client) const {
  const Fd target = connect_to_port(target_port_);
  if (!target.valid() || !send_all(client, answer_)) return;
  for (;;) {
    const int from = next_readable({client, target.get()}, end_.get());
    if (from < 0) return;
    const std::string bytes = receive_some(from);
    if (bytes.empty() || !send_all(from == client ? target.get() : client, bytes)) return;
  }
}

}  // namespace pinion::kube
