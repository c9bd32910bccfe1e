#include "tests/unit/kube/raw_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <vector>

namespace pinion::kube {

RawServer::RawServer(std::string bytes, Then then)
    : bytes_(std::move(bytes)),
      then_(then),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_.get(), generic, size) != 0 || listen(listener_.get(), 16) != 0 ||
      getsockname(listener_.get(), generic, &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

RawServer::~RawServer() {
  stopping_ = true;
  shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

Access RawServer::access() const {
  Access access;
  access.source = "the test";
  access.endpoint = {.tls = false, .host = "127.0.0.1", .port = port_, .path = ""};
  return access;
}

void RawServer::serve() {
  std::vector<Fd> kept;
  for (;;) {
    Fd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (stopping_ || !client.valid()) return;
    ++connections_;
    if (!bytes_.empty() && hear(client)) {
      (void)send(client.get(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
      if (then_ == Then::kCloseWhenAskedAgain) hear(client);
    }
    if (then_ == Then::kKeepOpen) kept.push_back(std::move(client));
  }
}

// The head of a request. False: there is none.
bool RawServer::hear(const Fd& client) {
  std::string request;
  std::array<char, 4096> part{};
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t n = recv(client.get(), part.data(), part.size(), 0);
    if (n <= 0) return false;
    request.append(part.data(), static_cast<std::size_t>(n));
  }
  ++requests_;
  return true;
}

}  // namespace pinion::kube
