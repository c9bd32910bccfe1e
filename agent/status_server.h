// A unix socket that answers every connection with one document and closes it. No request, no
// thread: the main loop polls its descriptors. Clients that read slowly are kept for a while, a few
// at a time, and never waited for.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <poll.h>

#include "base/error.h"
#include "base/fd.h"

namespace pinion::agent {

class StatusServer {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Listens on `path`, readable and writable for the owner only; a stale socket there is replaced.
  static Result<StatusServer> listen(const std::string& path);

  StatusServer(StatusServer&&) = default;
  StatusServer& operator=(StatusServer&&) = default;
  ~StatusServer();  // removes the socket

  // Appends what is to be polled.
  void watch(std::vector<pollfd>& fds) const;
  // Accepts, writes and closes as far as that goes without waiting; `document` is asked for each
  // new client.
  void serve(TimePoint now, const std::function<std::string()>& document);

 private:
  struct Client {
    Fd socket;
    std::string left;
    TimePoint until;
  };

  StatusServer(Fd listener, std::string path)
      : listener_(std::move(listener)), path_(std::move(path)) {}

  Fd listener_;
  std::string path_;
  std::vector<Client> clients_;
};

}  // namespace pinion::agent
