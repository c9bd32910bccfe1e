// kube-scheduler proposes whom to evict for a pod, and counts CPUs as one number: which of its
// proposals would really make room, and whether anybody has to go at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/core/scheduler.h"
#include "cluster/extender/scheduling/effects.h"
#include "cluster/extender/scheduling/node_facts.h"
#include "cluster/extender/scheduling/pause.h"
#include "cluster/extender/scheduling/pod_cache.h"

namespace pinion::cluster {

// A node of the scheduler's proposal to evict pods, and whom.
struct Eviction {
  std::string node;
  std::vector<std::string> victims;  // uids
};

class Preemption {
 public:
  // All must outlive it.
  Preemption(const Scheduler& scheduler, const PodCache& cache, const NodeFacts& nodes)
      : scheduler_(scheduler), fleet_(scheduler.fleet()), cache_(cache), nodes_(nodes) {}

  // Those of the proposals after which the pod would get its cores, also those that pods of a lower
  // priority merely have reserved. None where it would get them from pods that are on their way out
  // already; and for a member of a gang, where it has its room while others of the gang lack
  // theirs, or where there would be no room for all of the gang if all pods of a lower priority
  // were gone. Of a gang that may use so many nodes only those count that it would use then.
  // Preconditions: a pod of the cache, and its demand has requests.
  std::vector<Eviction> judge(Pod pod, const Demand& demand, std::vector<Eviction> proposals,
                              std::int64_t now_ms);
  // Where a member of a gang that lacks room may be nominated, so that the scheduler counts it
  // there: one by one each of them would find the same free CPUs, and nobody would be evicted for
  // any. Only where all of the gang would find room if all pods of a lower priority were gone; more
  // and more seldom for the same pod. -1: nowhere; where that is for want of a hole, it is to ask
  // again. `nodes`: those that the scheduler would take. Preconditions as judge().
  NodeIndex reserve(const Pod& pod, const Demand& demand, const std::vector<NodeIndex>& nodes,
                    std::int64_t now_ms);
  // The nodes that the whole gang of this member would use if all pods of a lower priority were
  // gone; nullopt: it would lack room. Precondition: as judge().
  [[nodiscard]] const std::optional<std::set<NodeIndex>>& could_use(const Pod& pod,
                                                                    const Demand& demand,
                                                                    std::int64_t now_ms);
  // Its status names the node, as the scheduler has chosen among the kept proposals.
  void nominated(const std::string& uid, const std::string& node);
  // It is bound, or no more.
  void forget(const std::string& uid);
  // A pod that was on the node is deleted; its agent may still name it.
  void deleted(const std::string& uid, const std::string& node);
  // The node's agent has told what it has, or the node is no more.
  void reported(const std::string& node);
  // Uids of pods that are to ask again, each once: nobody was evicted for them while others were on
  // their way out. `reported`: an agent has told that some have gone; else those are meant that
  // have waited long enough for that.
  std::vector<std::string> take_early(bool reported, std::int64_t now_ms);
  // When the first of those has; nullopt: there are none.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const { return early_.first_ms(); }

 private:
  using Requests = std::vector<topology::Request>;

  // What has been said to a pod's questions.
  struct Asked {
    std::vector<Eviction> kept;   // the last time that there were some
    std::int64_t spared_ms = -1;  // since then, when the first proposals came to nothing
    std::string reserved;         // the node that reserve() has said last
    std::int64_t reserved_ms = 0;
    Pause pause;  // it does nothing before that is over

    // A victim whose end neither the API server nor its agent tells for longer has not been
    // deleted.
    [[nodiscard]] bool spares(std::int64_t now_ms) const {
      return spared_ms < 0 || now_ms - spared_ms < 5000;
    }
  };

  [[nodiscard]] MemberTerms terms_of(const Pod& pod) const;
  [[nodiscard]] std::string nominated_to(const std::string& uid, const std::string& told,
                                         std::int64_t now_ms) const;
  [[nodiscard]] std::map<std::string, Requests> reserved(const Pod& pod, const Demand& demand,
                                                         std::int64_t now_ms) const;
  [[nodiscard]] bool has_its_place(const Pod& pod, const Demand& demand, const FleetView& soon,
                                   std::int64_t now_ms) const;
  std::set<NodeIndex> drop_ended(const Pod& pod, bool member,
                                 const std::vector<Eviction>& proposals, const Asked& asked,
                                 std::int64_t now_ms, FleetView& fleet) const;
  void drop_lower(std::int32_t priority, FleetView& fleet) const;

  const Scheduler& scheduler_;
  const Fleet& fleet_;  // its
  const PodCache& cache_;
  const NodeFacts& nodes_;
  std::map<std::string, Asked> asked_;  // by uid
  DueTimes<std::string> early_;         // uids that are to ask again, and when at the latest
  struct {
    std::string gang;
    std::int32_t priority = 0;
    std::int64_t until_ms = 0;
    std::optional<std::set<NodeIndex>> nodes{};
  } could_use_;  // the last answer
  // Uids of deleted pods that their agent still names, by node.
  std::map<std::string, std::vector<std::string>> ending_;
};

}  // namespace pinion::cluster
