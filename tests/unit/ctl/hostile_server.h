// A server that says to each who connects what it was told to, whatever it is asked.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "base/fd.h"

namespace pinion::ctl {

class HostileServer {
 public:
  struct Says {
    std::string first = {};
    std::string again = {};  // without end, behind `first`; empty: nothing more
    bool closes = true;      // where `again` is empty; else it waits for the peer to do so
  };

  explicit HostileServer(Says says) : says_(std::move(says)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;
  ~HostileServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // ends accept(2)
    thread_.join();
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::size_t sent() const { return sent_; }  // bytes so far

 private:
  void serve() {
    for (;;) {
      const Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.valid()) return;
      answer(peer.get());
    }
  }
  void answer(int peer) {
    char asked[65536];
    if (::recv(peer, asked, sizeof(asked), 0) <= 0 || !send(peer, says_.first)) return;
    while (!says_.again.empty() && send(peer, says_.again)) {
    }
    if (says_.closes) return;
    while (::recv(peer, asked, sizeof(asked), 0) > 0) {
    }
  }
  bool send(int peer, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = ::send(peer, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
      sent_ += static_cast<std::size_t>(n);
    }
    return true;
  }

  const Says says_;
  Fd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int port_ = 0;
  std::atomic<std::size_t> sent_ = 0;
  std::thread thread_;
};

}  // namespace pinion::ctl
