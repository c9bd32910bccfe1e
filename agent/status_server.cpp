#include "agent/status_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>

namespace pinion::agent {
namespace {

constexpr std::size_t kMaxClients = 8;
constexpr std::chrono::seconds kPatience{5};

// Writes as much as the socket takes. False: the client is done with, or gone.
bool push(int socket, std::string& left) {
  while (!left.empty()) {
    const ssize_t n = send(socket, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    left.erase(0, static_cast<std::size_t>(n));
  }
  return false;
}

}  // namespace

Result<StatusServer> StatusServer::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return failure(Errc::kInvalid, "socket path is longer than " +
                                       std::to_string(sizeof(address.sun_path) - 1) +
                                       " bytes: " + path);
  }
  path.copy(address.sun_path, path.size());
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.valid()) return sys_failure("make status socket");
  unlink(path.c_str());
  const mode_t before = umask(0177);
  const int bound =
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  umask(before);
  if (bound != 0) return sys_failure("bind " + path);
  if (::listen(listener.get(), static_cast<int>(kMaxClients)) != 0)
    return sys_failure("listen on " + path);
  return StatusServer(std::move(listener), path);
}

StatusServer::~StatusServer() {
  if (listener_.valid()) unlink(path_.c_str());
}

void StatusServer::watch(std::vector<pollfd>& fds) const {
  if (clients_.size() < kMaxClients)
    fds.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  for (const Client& client : clients_) {
    fds.push_back({.fd = client.socket.get(), .events = POLLOUT, .revents = 0});
  }
}

void StatusServer::serve(TimePoint now, const std::function<std::string()>& document) {
  while (clients_.size() < kMaxClients) {
    Fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) break;
    clients_.push_back({.socket = std::move(socket), .left = document(), .until = now + kPatience});
  }
  std::erase_if(clients_, [&](Client& client) {
    return now > client.until || !push(client.socket.get(), client.left);
  });
}

}  // namespace pinion::agent
