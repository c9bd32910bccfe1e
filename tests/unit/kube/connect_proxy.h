// An HTTP proxy on 127.0.0.1 that knows only CONNECT.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/net/acceptor.h"

namespace pinion::kube {

class ConnectProxy {
 public:
  static constexpr const char* kAccepted = "HTTP/1.1 200 Connection established\r\n\r\n";

  // All tunnels lead to this port of 127.0.0.1, whatever they were asked for; with another answer
  // than kAccepted there are none.
  explicit ConnectProxy(int target_port, std::string answer = kAccepted);
  ConnectProxy(const ConnectProxy&) = delete;
  ConnectProxy& operator=(const ConnectProxy&) = delete;
  ~ConnectProxy();

  [[nodiscard]] std::string address() const;       // "127.0.0.1:3128"
  [[nodiscard]] std::vector<std::string> asked();  // the heads of all requests so far

 private:
  void serve(int client);
  void tunnel(int client) const;

  int target_port_;
  std::string answer_;
  std::mutex mutex_;
  std::vector<std::string> asked_;  // under mutex_
  Fd end_;                          // readable when it is time to stop
  std::vector<Fd> clients_;         // these two by the acceptor's thread alone
  std::vector<std::thread> threads_;
  std::unique_ptr<net::Acceptor> acceptor_;
};

}  // namespace pinion::kube
