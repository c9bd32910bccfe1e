#include "tests/bench/crowd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string_view>

#include "base/net/listen_address.h"

namespace pinion::bench {
namespace {

constexpr std::size_t kPeers = 64;  // addresses that the connections come from
constexpr std::size_t kRound = 50;  // connections between two pauses
constexpr std::chrono::milliseconds kPause{10};
constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nX: ";

// 127.0.1.1 and those after it.
sockaddr_in origin(std::size_t number) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(0x7F000101U + static_cast<std::uint32_t>(number % kPeers));
  return address;
}

}  // namespace

Crowd::Crowd(std::vector<std::string> addresses, Manner manner, std::size_t most)
    : addresses_(std::move(addresses)), manner_(manner), most_(most) {
  thread_ = std::thread([this] { run(); });
}

Crowd::~Crowd() {
  stop_ = true;
  thread_.join();
}

bool Crowd::connect_one(std::size_t number) {
  const auto to = net::parse_listen_address(addresses_[number % addresses_.size()]);
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!to || !socket.valid()) return false;
  const sockaddr_in from = origin(number);
  const timeval patience{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const auto* target = reinterpret_cast<const sockaddr*>(&to->address);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)) != 0 ||
      ::connect(socket.get(), target, to->size) != 0) {
    return false;
  }
  sockets_.push_back(std::move(socket));
  return true;
}

void Crowd::say(const Fd& socket, std::size_t number) const {
  if (manner_ == Manner::kIdle) return;
  std::array<char, 512> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>((number + 1) * (i + 7) * 2654435761U >> 11U);
  }
  const auto what = manner_ == Manner::kSlow ? kRequest.substr(0, 1 + number % kRequest.size())
                                             : std::string_view(bytes.data(), bytes.size());
  (void)!::send(socket.get(), what.data(), what.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Crowd::run() {
  std::size_t tried = 0;
  while (!stop_ && tried < most_) {
    const std::size_t end = std::min(tried + kRound, most_);
    for (; tried < end; ++tried) {
      if (!connect_one(tried)) continue;
      ++connected_;
      say(sockets_.back(), tried);
    }
    // The pace of a client, not a synchronisation: 5,000 connections a second at most.
    std::this_thread::sleep_for(kPause);
  }
  done_ = true;
  while (!stop_) {
    for (std::size_t i = 0; manner_ == Manner::kSlow && i < sockets_.size() && !stop_; ++i) {
      (void)!::send(sockets_[i].get(), "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    std::this_thread::sleep_for(10 * kPause);
  }
}

}  // namespace pinion::bench
