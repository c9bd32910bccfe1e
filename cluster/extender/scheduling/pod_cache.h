// The pods that want cores, also while they wait for their PodGroup, and the nodes that they are
// on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cluster/extender/scheduling/demand.h"

namespace pinion::cluster {

struct KnownPod {
  PodRef pod;
  Demand demand;
  MemberTerms terms;
  std::int32_t priority = 0;
  std::int64_t since_ms = 0;  // it exists
  std::string node;           // where it is bound, or is being bound; empty: nowhere
  std::string nominated;      // the node that its status names, or empty
  std::string offered;        // the last node planned for it that the scheduler took it to
  // The last planned node that the scheduler did not offer, for which it was nominated, and when.
  std::string missed;
  std::int64_t missed_ms = 0;
  bool told = false;          // the API server has told of it, and will tell of its end
  bool bound = false;         // it says so
  bool by_us = false;         // and that we have bound it
  std::int64_t asked_ms = 0;  // the last question about it; 0: none yet
  std::string hopeless;       // why its job never fits, as its user was told by this pod last
  // Key of its PodGroup, where that was not there yet when the pod was found bound.
  std::string late_group;
};

class PodCache {
 public:
  using Uids = std::set<std::string>;

  // nullptr: not known.
  [[nodiscard]] KnownPod* find(std::string_view uid);
  [[nodiscard]] const KnownPod* find(std::string_view uid) const;
  // Precondition: its uid is not known, and it is on no node yet.
  KnownPod& add(KnownPod pod);
  // Empty: on none.
  void set_node(KnownPod& pod, const std::string& node);
  // Precondition: known.
  void erase(const std::string& uid);

  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] std::size_t placed() const { return placed_; }  // on a node
  // Whether one of those has a lower priority.
  [[nodiscard]] bool any_below(std::int32_t priority) const {
    return !priorities_.empty() && priorities_.begin()->first < priority;
  }
  // By node; none is empty, and all are known.
  [[nodiscard]] const std::map<std::string, Uids>& residents() const { return residents_; }

 private:
  std::map<std::string, KnownPod, std::less<>> pods_;  // by uid
  std::map<std::string, Uids> residents_;              // by KnownPod::node
  std::map<std::int32_t, std::size_t> priorities_;     // of all of them, and how many have it
  std::size_t placed_ = 0;                             // all of them
};

}  // namespace pinion::cluster
