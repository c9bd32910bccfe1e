// A connection to a server on this machine on which a test may send anything, at any pace.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace pinion::agent {

class RawClient {
 public:
  // To "127.0.0.1:PORT" or "[::1]:PORT". A test that cannot connect fails.
  explicit RawClient(const std::string& address);

  // False: the other side has closed.
  bool send(std::string_view bytes);
  // All that comes until the other side closes; `closed` is false if it has not after ten seconds.
  std::string read_all();
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  Fd socket_;
  bool closed_ = false;
};

// The answer to one request, as it came.
std::string answer_to(const std::string& address, std::string_view request);

}  // namespace pinion::agent
