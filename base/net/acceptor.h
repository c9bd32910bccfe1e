// A thread that takes connections from a listening socket until it is told to stop.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/net/listen_address.h"

namespace pinion::net {

// Ends the sending side and takes what the peer has sent meanwhile: a socket closed with bytes
// unread would be reset, and the answer lost with it. Does not wait.
void close_gently(int socket);

// Whether accept(2) has failed (errno) because the machine or the process is short of something, so
// that the same would happen at once again.
[[nodiscard]] bool short_of_resources();

class Acceptor {
 public:
  // `taken` is called on the acceptor's thread with each connection, whose socket does not block.
  // After a shortage of descriptors or memory it pauses. Errors: those of eventfd(2).
  static Result<std::unique_ptr<Acceptor>> start(Listener listener, std::function<void(Fd)> taken);

  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  // Returns after the last call of `taken`, with the port free.
  ~Acceptor();

  // With the port that was chosen.
  [[nodiscard]] const ListenAddress& address() const { return listener_.address; }

 private:
  Acceptor(Listener listener, Fd wake, std::function<void(Fd)> taken);

  void accept_all();
  bool accept_one();

  Listener listener_;
  Fd wake_;  // readable when it is time to stop
  std::function<void(Fd)> taken_;
  std::thread thread_;
};

}  // namespace pinion::net
