// Pinion's scheduling gate: kube-scheduler asks about no pod that has it. The gate is taken off
// when the pod's gang has its plan, or where the pod is of no gang. What is on the pods is all the
// state that counts, so nothing is lost with this.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/core/due_times.h"
#include "cluster/core/job_book.h"
#include "cluster/extender/scheduling/effects.h"
#include "cluster/extender/scheduling/pause.h"
#include "cluster/extender/scheduling/pod.h"

namespace pinion::cluster {

class Gates {
 public:
  // Of the pods of one gang that have a gate.
  struct Gang {
    std::set<std::string> ours;    // uids of those that have ours
    std::set<std::string> others;  // and of those of them that have others as well
    bool asked = false;            // it is to be asked about without a plan
    Pause ask;                     // until that is looked at again
    std::string told;              // why it waits, as its user was told last
    Pause tell;                    // until another reason is told
  };

  // The pod as the API server tells of it, not bound; `gang`: empty where it is of none.
  void seen(const Pod& pod, const JobId& gang);
  // It has no gate, or is no more.
  void erase(const std::string& uid);
  [[nodiscard]] bool on(const std::string& uid) const { return pods_.contains(uid); }

  // The pod's gate is to be taken off, and the node nominated before; empty: none is. Precondition:
  // it is on.
  void open(const std::string& uid, const std::string& node);
  // It is to stay. Precondition: it is on.
  void keep(const std::string& uid);
  // What is to be opened now, in the order of open(); each pod again and again, more and more
  // seldom, until it is seen without its gate: nobody tells whether it was.
  void due(std::int64_t now_ms, std::vector<Opening>& openings);
  // When the first of that is; nullopt: nothing is to be opened.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const { return due_.first_ms(); }
  [[nodiscard]] std::size_t opening() const { return opening_.size(); }

  // nullptr: none of its pods has our gate.
  [[nodiscard]] Gang* find(const JobId& gang);
  [[nodiscard]] const Gang* find(const JobId& gang) const;
  [[nodiscard]] std::map<JobId, Gang>& gangs() { return gangs_; }
  [[nodiscard]] bool has_gangs() const { return !gangs_.empty(); }
  // Those that nothing but our gates keeps.
  [[nodiscard]] std::vector<JobId> ready() const;
  [[nodiscard]] std::size_t pods() const { return pods_.size(); }

 private:
  struct Gated {
    PodRef pod;
    JobId gang;
    std::string nominated;  // the node that its status names, or empty
  };
  struct Wanted {
    std::string node;
    std::uint64_t number = 0;  // ascending in the order of open()
    Pause pause;
  };

  std::map<std::string, Gated> pods_;      // by uid
  std::map<std::string, Wanted> opening_;  // by uid, of pods_
  DueTimes<std::string> due_;              // all of them
  std::uint64_t opened_ = 0;
  std::map<JobId, Gang> gangs_;  // with one or more of pods_
};

}  // namespace pinion::cluster
