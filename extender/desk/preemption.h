// kube-scheduler proposes whom to evict for a pod, and counts CPUs as one number: which of its
// proposals would really make room, and whether anybody has to go at all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "extender/desk/gangs.h"
#include "extender/desk/recent.h"
#include "extender/desk/roster.h"
#include "extender/fleet.h"

namespace pinion::extender {

// A node of the scheduler's proposal to evict pods, and whom.
struct Eviction {
  std::string node;
  std::vector<std::string> victims;  // uids
};

class Preemption {
 public:
  // All must outlive it. `gone`: uids of pods that are deleted.
  Preemption(const Fleet& fleet, const Gangs& gangs, const Roster& roster, const Recent& gone)
      : fleet_(fleet), gangs_(gangs), roster_(roster), gone_(gone) {}

  // Those of the proposals after which the pod would get its cores. None where it would get them
  // from pods that are on their way out already, and for a member of a gang for which there would
  // be no room if all pods of a lower priority were gone. Precondition: a pod of the roster, and
  // its demand has requests.
  std::vector<Eviction> judge(const Pod& pod, const Demand& demand, std::vector<Eviction> proposals,
                              std::int64_t now_ms);
  // Its status names the node, as the scheduler has chosen among the kept proposals.
  void nominated(const std::string& uid, const std::string& node);
  // The pod is bound, or no more.
  void forget(const std::string& uid) {
    asked_.erase(uid);
    early_.erase(uid);
  }
  // Uids of pods that are to ask again, each once: nobody was evicted for them while others were on
  // their way out. `reported`: an agent has told that some have gone; else those are meant that
  // have waited long enough for that.
  std::vector<std::string> take_early(bool reported, std::int64_t now_ms);

 private:
  using Ledgers = std::map<NodeIndex, topology::Ledger>;

  // What has been said to a pod's questions.
  struct Asked {
    std::vector<Eviction> kept;   // the last time that there were some
    std::int64_t spared_ms = -1;  // since then, when the first proposals came to nothing
  };

  [[nodiscard]] bool fits_with(const Demand& demand, const Ledgers& ledgers) const;
  [[nodiscard]] Ledgers without_ended(const Pod& pod, const std::vector<Eviction>& proposals,
                                      const Asked& asked, std::int64_t now_ms) const;
  [[nodiscard]] Ledgers without_lower(std::int32_t priority) const;

  const Fleet& fleet_;
  const Gangs& gangs_;
  const Roster& roster_;
  const Recent& gone_;
  std::map<std::string, Asked> asked_;         // by uid
  std::map<std::string, std::int64_t> early_;  // uids that are to ask again, and since when
};

}  // namespace pinion::extender
