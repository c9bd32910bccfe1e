// The pods that were refused: the scheduler asks about such a pod again only after some event, up
// to five minutes later, so those that would fit now are touched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cluster/core/due_times.h"
#include "cluster/extender/scheduling/pause.h"
#include "cluster/extender/scheduling/pod.h"

namespace pinion::cluster {

// A pod that was refused, until it fits or is gone.
struct Waiting {
  PodRef pod;
  std::string why;            // the text of the last refusal
  std::string group;          // key of the PodGroup that it waits for; empty: for something else
  std::int64_t since_ms = 0;  // of the first one
  Pause pause;                // not touched before it is over
};

class WaitingPods {
 public:
  // What a look at one of them says, and how many looks it is worth.
  struct Look {
    bool fits = false;
    int cost = 1;
  };

  void add(const PodRef& pod, const std::string& why, const std::string& group,
           std::int64_t now_ms);
  void erase(const std::string& uid) { pods_.erase(uid); }
  // All that wait for this PodGroup.
  [[nodiscard]] std::vector<PodRef> of_group(const std::string& key) const;

  // Goes on where it stopped the last time, and looks at some. Adds those to `wake` that fit; each
  // again only after a pause that doubles, for the scheduler may have reasons of its own to refuse
  // them. Returns when there is more to look at: `now_ms`, or when a pause is over; kNeverDue.
  std::int64_t look(std::int64_t now_ms, const std::function<Look(const std::string& uid)>& look,
                    std::vector<PodRef>& wake);

  // By uid.
  [[nodiscard]] const std::map<std::string, Waiting>& all() const { return pods_; }

 private:
  std::map<std::string, Waiting> pods_;
  std::string looked_at_;              // last
  std::int64_t later_ms_ = kNeverDue;  // one that was passed in this round is to be looked at then
};

}  // namespace pinion::cluster
