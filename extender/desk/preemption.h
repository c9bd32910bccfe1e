// kube-scheduler proposes whom to evict for a pod, and counts CPUs as one number: which of its
// proposals would really make room, and whether anybody has to go at all.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
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
  // from pods that are deleted already, and for a member of a gang for which there would be no room
  // if all pods of a lower priority were gone. Precondition: a demand with requests.
  std::vector<Eviction> judge(const Pod& pod, const Demand& demand,
                              std::vector<Eviction> proposals);
  // Since the last call: uids of pods for which nobody was evicted while agents had not told yet of
  // what has ended. They are to ask again when one has.
  std::set<std::string> take_early() { return std::exchange(early_, {}); }

 private:
  using Ledgers = std::map<NodeIndex, topology::Ledger>;

  [[nodiscard]] bool fits_with(const Demand& demand, const Ledgers& ledgers) const;
  [[nodiscard]] Ledgers without_ended(const Pod& pod, const std::vector<Eviction>& proposals) const;
  [[nodiscard]] Ledgers without_lower(std::int32_t priority) const;

  const Fleet& fleet_;
  const Gangs& gangs_;
  const Roster& roster_;
  const Recent& gone_;
  std::set<std::string> early_;
};

}  // namespace pinion::extender
