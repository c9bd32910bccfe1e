// A server on 127.0.0.1 that says the same bytes to everybody, or nothing, one connection after
// another.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "base/fd.h"
#include "cluster/extender/kube/access.h"

namespace pinion::kube {

class RawServer {
 public:
  // The last: hears one more request and closes instead of an answer.
  enum class Then { kClose, kKeepOpen, kCloseWhenAskedAgain };

  // It waits for the end of a request's head first, except with no bytes to say.
  RawServer(std::string bytes, Then then);
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer();

  [[nodiscard]] Access access() const;  // without TLS
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] int requests() const { return requests_; }

 private:
  void serve();
  bool hear(const Fd& client);

  std::string bytes_;
  Then then_;
  Fd listener_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace pinion::kube
