// Bind calls of gangs' members that wait for their answer until all of their gang have come.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/extender/scheduling/effects.h"

namespace pinion::cluster {

class HeldBinds {
 public:
  // `most`: calls that may be held at one time.
  explicit HeldBinds(std::size_t most) : most_(most) {}

  // Whether the gang's calls may be held: it has begun, or there is room for all of its calls
  // beside those of the others that have. Else two gangs could fill it with half of each.
  [[nodiscard]] bool may_hold(const std::string& gang, int size) const;
  // An older call of the same pod is refused: the scheduler has given it up.
  void hold(const std::string& gang, int size, const std::string& uid, Ticket ticket,
            std::int64_t now_ms);
  // Calls of this gang.
  [[nodiscard]] int count(const std::string& gang) const;
  // All of the gang's calls may go; that of `own` is answered by the caller. Returns the pods'
  // uids.
  std::vector<std::string> let_go(const std::string& gang, Ticket own);
  void refuse(const std::string& gang, const std::string& uid, const std::string& why);
  void refuse(const std::string& gang, const std::string& why);
  // The gangs that have waited so long since their first call.
  [[nodiscard]] std::vector<std::string> overdue(std::int64_t now_ms, std::int64_t hold_ms) const;
  [[nodiscard]] std::vector<std::string> gangs() const;  // with held calls
  // The answers since the last call.
  std::vector<Answered> take_answered() { return std::exchange(answered_, {}); }

 private:
  struct Calls {
    int size = 0;  // of the gang
    std::int64_t since_ms = 0;
    std::map<std::string, Ticket> tickets;  // by uid, not empty
  };

  std::size_t most_;
  std::map<std::string, Calls> gangs_;
  std::vector<Answered> answered_;
};

}  // namespace pinion::cluster
