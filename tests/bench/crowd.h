// Many connections that are up to no good, from this machine and many of its loopback addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace pinion::bench {

enum class Manner {
  kIdle,     // says nothing
  kSlow,     // a byte of a request now and then
  kGarbage,  // what is no request and no handshake
};

class Crowd {
 public:
  // Connects `most` times to the addresses ("127.0.0.1:PORT") in turn and keeps what it has; who is
  // closed comes back, until `most` connections were made. Ends with this object.
  Crowd(std::vector<std::string> addresses, Manner manner, std::size_t most);
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd();

  [[nodiscard]] std::size_t connected() const { return connected_; }
  [[nodiscard]] bool done() const { return done_; }

 private:
  void run();
  bool connect_one(std::size_t number);
  void say(const Fd& socket, std::size_t number) const;

  std::vector<std::string> addresses_;
  Manner manner_;
  std::size_t most_;
  std::vector<Fd> sockets_;
  std::atomic<std::size_t> connected_ = 0;
  std::atomic<bool> done_ = false;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace pinion::bench
