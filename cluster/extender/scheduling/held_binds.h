// Bind calls of gangs' members that wait for their answer until all of their gang have come.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/core/due_times.h"
#include "cluster/extender/scheduling/effects.h"

namespace pinion::cluster {

class HeldBinds {
 public:
  // `most`: calls that may be held at one time; those of a gang are overdue `hold_ms` after its
  // first one.
  HeldBinds(std::size_t most, std::int64_t hold_ms) : most_(most), hold_ms_(hold_ms) {}

  // Whether the gang's calls may be held: it has begun, or there is room for all of its calls
  // beside those of the others that have. Else two gangs could fill it with half of each.
  [[nodiscard]] bool may_hold(const std::string& gang, int size) const;
  // An older call of the same pod is refused: the scheduler has given it up.
  void hold(const std::string& gang, int size, const std::string& uid, CallId call_id,
            std::int64_t now_ms);
  // Calls of this gang.
  [[nodiscard]] int count(const std::string& gang) const;
  // All of the gang's calls may go; that of `own` is answered by the caller. Returns the pods'
  // uids.
  std::vector<std::string> let_go(const std::string& gang, CallId own);
  void refuse(const std::string& gang, const std::string& uid, const std::string& why);
  void refuse(const std::string& gang, const std::string& why);
  // The gangs whose calls are overdue.
  [[nodiscard]] std::vector<std::string> overdue(std::int64_t now_ms) const {
    return overdue_.due(now_ms);
  }
  // When the first of them is; nullopt: none is held.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const { return overdue_.first_ms(); }
  [[nodiscard]] std::vector<std::string> gangs() const;  // with held calls
  // The answers since the last call.
  std::vector<Answered> take_answered() { return std::exchange(answered_, {}); }

 private:
  struct Calls {
    int size = 0;                            // of the gang
    std::map<std::string, CallId> call_ids;  // by uid, not empty
  };

  void end(const std::string& gang);

  std::size_t most_;
  std::int64_t hold_ms_;
  std::map<std::string, Calls> gangs_;
  DueTimes<std::string> overdue_;  // all of them
  std::vector<Answered> answered_;
};

}  // namespace pinion::cluster
