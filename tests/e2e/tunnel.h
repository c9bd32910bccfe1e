// TCP connections passed on, byte by byte, between clients and a server of this machine that speak
// TLS with each other: what the server answers can be lost on the way.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/net/acceptor.h"
#include "cluster/extender/http/thread_set.h"

namespace pinion::e2e {

class Tunnel {
 public:
  // To this port of 127.0.0.1. Errors: as net::listen_on().
  static Result<std::unique_ptr<Tunnel>> start(int port);
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;
  ~Tunnel();

  // From now on nothing of the server's comes through; what it is sent does.
  void lose_answers() { loses_ = true; }
  // All connections end; those that come after this are honest.
  void cut();

  [[nodiscard]] std::string address() const { return acceptor_->address().to_string(); }

 private:
  explicit Tunnel(int port) : target_(port) {}

  void serve(const Fd& client);
  void pass(int client, int server);
  bool enter(int client, int server);
  void shut_all();  // under mutex_

  const int target_;
  std::atomic<bool> loses_ = false;
  std::mutex mutex_;
  std::set<int> open_;  // sockets; these two under mutex_
  bool ending_ = false;
  cluster::ThreadSet threads_{64, std::size_t{512} << 10U};
  std::unique_ptr<net::Acceptor> acceptor_;  // the last: it uses all the others
};

}  // namespace pinion::e2e
