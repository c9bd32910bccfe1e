#include "base/net/acceptor.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>

namespace pinion::net {
namespace {

constexpr int kPauseMs = 100;  // after a shortage of descriptors or memory

}  // namespace

void close_gently(int socket) {
  shutdown(socket, SHUT_WR);
  std::array<char, 4096> rest{};
  for (int i = 0; i < 16 && recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) > 0; ++i) {
  }
}

bool short_of_resources() {
  return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

Result<std::unique_ptr<Acceptor>> Acceptor::start(Listener listener,
                                                  std::function<void(Fd)> taken) {
  Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return sys_failure("make eventfd");
  return std::unique_ptr<Acceptor>(
      new Acceptor(std::move(listener), std::move(wake), std::move(taken)));
}

Acceptor::Acceptor(Listener listener, Fd wake, std::function<void(Fd)> taken)
    : listener_(std::move(listener)), wake_(std::move(wake)), taken_(std::move(taken)) {
  thread_ = std::thread([this] { accept_all(); });
}

Acceptor::~Acceptor() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Acceptor::accept_all() {
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = listener_.socket.get(), .events = POLLIN, .revents = 0}};
    const int ready = poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return;
    if (ready > 0 && !accept_one() && poll(fds.data(), 1, kPauseMs) > 0) return;
  }
}

// False: the machine is short of something, so the same would happen at once again.
bool Acceptor::accept_one() {
  Fd socket(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) return !short_of_resources();
  taken_(std::move(socket));
  return true;
}

}  // namespace pinion::net
