// Stands for the Service before several extenders: asks each of them all the time whether it is
// ready, knows which one to call, and remembers what they said.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace pinion::e2e {

class Service {
 public:
  struct Place {
    std::string probes;     // an address that answers /leadz
    std::string scheduler;  // where that replica takes the scheduler's calls
  };
  explicit Service(std::vector<Place> replicas);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  // Where the scheduler's calls go: to the one that said last that it is ready, and has not taken
  // it back; "": none.
  [[nodiscard]] std::string ready() const;
  // Two said that they are ready, and at one moment both were.
  [[nodiscard]] bool two_at_once() const;

 private:
  using Clock = std::chrono::steady_clock;
  // Said something at a moment between these two.
  struct Said {
    Clock::time_point from;
    Clock::time_point until;
    bool ready = false;
  };
  struct Replica {
    Place place;
    std::vector<Said> said = {};  // in order; nothing where no answer came
    bool answers = false;         // the last time
  };

  void ask(Replica& replica);
  static bool ready_throughout(const Replica& replica, const Said& moment);

  mutable std::mutex mutex_;
  std::vector<Replica> replicas_;  // what they said: under mutex_
  std::atomic<bool> ending_ = false;
  std::vector<std::thread> threads_;  // the last: they use all the others
};

}  // namespace pinion::e2e
