// kube-scheduler's cycles over the gangs that it keeps together itself (PodGroupApi::kNative). In
// one cycle it asks about each member once, at its nominated node before all nodes, and binds only
// when enough have a node. It tells nobody that it has given a cycle up: the next question about a
// member that it has asked about already does, or the time. It tries a gang that it has refused for
// reasons of its own again every few seconds, for ever: its places are to be free meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/core/due_times.h"
#include "cluster/core/job_book.h"

namespace pinion::cluster {

class GroupCycles {
 public:
  // A cycle is over when nobody has asked about its gang for so long; for a tenth of that, if the
  // cycle before was given up.
  explicit GroupCycles(std::int64_t after_ms) : after_ms_(after_ms) {}

  // A question about a member, at its nominated node alone or at all nodes. False: another cycle
  // begins with it.
  bool asked(const JobId& gang, const std::string& uid, bool nominated, std::int64_t now_ms);
  // Whether the present cycle has asked about it.
  [[nodiscard]] bool has_asked(const JobId& gang, const std::string& uid) const;
  // The gang has started, or is no more.
  void end(const JobId& gang);
  // The gangs whose cycles are over by now; they are by that.
  std::vector<JobId> take_overdue(std::int64_t now_ms);
  // When the first of them is; nullopt: there are none.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const { return over_.first_ms(); }

 private:
  struct Gang {
    std::map<std::string, bool> asked;  // by uid, in this cycle: at its nominated node alone so far
    bool given_up = false;              // the cycle before
  };

  const std::int64_t after_ms_;
  std::map<JobId, Gang> gangs_;
  DueTimes<JobId> over_;
};

}  // namespace pinion::cluster
