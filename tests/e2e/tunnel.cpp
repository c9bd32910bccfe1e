#include "tests/e2e/tunnel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace pinion::e2e {
namespace {

Fd connect_to(int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.get(), any, sizeof address) != 0) return Fd();
  return socket;
}

bool send_all(int socket, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t sent = ::send(socket, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    count -= sent;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Tunnel>> Tunnel::start(int port) {
  auto listener = net::listen_on("127.0.0.1:0");
  if (!listener) return failure(listener.error());
  std::unique_ptr<Tunnel> tunnel(new Tunnel(port));
  auto acceptor = net::Acceptor::start(*std::move(listener), [all = tunnel.get()](Fd socket) {
    // A function of the standard library must be one that can be copied.
    auto shared = std::make_shared<Fd>(std::move(socket));
    all->threads_.run([all, shared] { all->serve(*shared); });
  });
  if (!acceptor) return failure(acceptor.error());
  tunnel->acceptor_ = *std::move(acceptor);
  return tunnel;
}

Tunnel::~Tunnel() {
  acceptor_.reset();
  const std::lock_guard lock(mutex_);
  ending_ = true;
  shut_all();
}

void Tunnel::shut_all() {
  for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
}

void Tunnel::cut() {
  const std::lock_guard lock(mutex_);
  shut_all();
  loses_ = false;
}

bool Tunnel::enter(int client, int server) {
  const std::lock_guard lock(mutex_);
  if (ending_) return false;
  open_.insert({client, server});
  return true;
}

void Tunnel::serve(const Fd& client) {
  const Fd server = connect_to(target_);
  if (server.get() < 0 || !enter(client.get(), server.get())) return;
  ::fcntl(client.get(), F_SETFL, ::fcntl(client.get(), F_GETFL) & ~O_NONBLOCK);
  pass(client.get(), server.get());
  const std::lock_guard lock(mutex_);
  open_.erase(client.get());
  open_.erase(server.get());
}

// Until one of the two is at its end.
void Tunnel::pass(int client, int server) {
  std::array<char, 16384> bytes{};
  std::array<pollfd, 2> both{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
  while (::poll(both.data(), both.size(), -1) > 0) {
    for (const pollfd& one : both) {
      if (one.revents == 0) continue;
      const ssize_t count = ::recv(one.fd, bytes.data(), bytes.size(), 0);
      if (count <= 0) return;
      if (one.fd == server && loses_) continue;
      if (!send_all(one.fd == server ? client : server, bytes.data(), count)) return;
    }
  }
}

}  // namespace pinion::e2e
