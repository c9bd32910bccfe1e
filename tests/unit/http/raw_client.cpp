#include "tests/unit/http/raw_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>

#include "base/net/listen_address.h"

namespace pinion::agent {

RawClient::RawClient(const std::string& address) {
  const auto to = net::parse_listen_address(address);
  EXPECT_TRUE(to);
  if (!to) return;
  socket_ = Fd(socket(to->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to->address), to->size), 0)
      << address;
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string RawClient::read_all() {
  std::string all;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (n > 0) {
      all.append(buffer.data(), static_cast<std::size_t>(n));
      continue;
    }
    closed_ = n == 0 || errno == ECONNRESET;
    return all;
  }
}

std::string answer_to(const std::string& address, std::string_view request) {
  RawClient client(address);
  client.send(request);
  return client.read_all();
}

}  // namespace pinion::agent
