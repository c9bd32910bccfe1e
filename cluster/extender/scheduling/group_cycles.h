// kube-scheduler's cycles over the gangs that it keeps together itself (PodGroupApi::kNative). In
// one cycle it asks about each member once, at its nominated node before all nodes, and binds only
// when enough have a node. It tells nobody that it has given a cycle up: the next question about a
// member that it has asked about already does, or the time. It tries a gang that it has refused for
// reasons of its own again every few seconds, for ever: its places are to be free meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/core/job_book.h"

namespace pinion::cluster {

class GroupCycles {
 public:
  // A question about a member, at its nominated node alone or at all nodes. False: another cycle
  // begins with it.
  bool asked(const JobId& gang, const std::string& uid, bool nominated, std::int64_t now_ms);
  // Whether the present cycle has asked about it.
  [[nodiscard]] bool has_asked(const JobId& gang, const std::string& uid) const;
  // The gang has started, or is no more.
  void end(const JobId& gang) { gangs_.erase(gang); }
  // The gangs about which nobody has asked for so long, by id; for a tenth of that, if the cycle
  // before was given up. Their cycles are over by that.
  std::vector<JobId> take_overdue(std::int64_t now_ms, std::int64_t after_ms);

 private:
  struct Gang {
    std::map<std::string, bool> asked;  // by uid, in this cycle: at its nominated node alone so far
    std::int64_t asked_ms = 0;          // the last question
    bool given_up = false;              // the cycle before
  };

  std::map<JobId, Gang> gangs_;
};

}  // namespace pinion::cluster
