// What is to be done about elastic jobs now: begins starts, shrinks and expands as the policy says,
// and takes each of them on to its end. Pure: no clock, no thread, no memory; what is under way
// stands in the jobs.
//
// A rescale: kWanted and kBefore are set (asked); a shrink of an application that acknowledges
// waits for kAcknowledged; the job's size becomes what is wanted; when its pods are as many and
// ready, an application that is asked has acknowledged an expand, and those that had to go are
// gone, kWanted goes (done). Until then nobody else is given the CPUs: what is free is what the
// agents report as free, less what is owed to workers that are not ready yet. (Those that run and
// are not ready count twice, until they are.) Workers without a rescale are owed nothing any more
// once they have had the time in which new ones must be ready.
//
// A Charm++ program may act on what it was sent (kRescaleSent) long after its rescale was given up.
// Until it has, or is gone, nothing else is decided for it, and new workers are not taken back: it
// may restart onto them. With how many it runs then is written down as acknowledged, and taken
// over. It counts as acting only once progress was seen of it (going_on.h).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cluster/extender/elastic/elastic_job.h"

namespace pinion::cluster::elastic {

struct ControllerLimits {
  // An application that says nothing for so long declines: long enough for a ConfigMap to reach its
  // pods, and for a program that acts at its next load balancing step.
  std::int64_t acknowledge_ms = 180'000;
  // The same of a program that runs with its new number of PEs and of which no progress is seen.
  std::int64_t progress_ms = 180'000;
  std::int64_t ready_ms = 120'000;  // new workers that are not ready then are given up
};

// Moments that a step writes on its job, since 1970; 0: not this one.
struct Moments {
  std::int64_t rescaled_ms = 0;
  std::int64_t declined_until_ms = 0;
};

// A merge patch for a job of this version, all of a step in one; and what to say of it.
struct Action {
  enum class Kind { kStart, kShrink, kExpand, kResize, kDone, kDeclined };
  Kind kind = Kind::kStart;
  std::string uid;
  nlohmann::json patch;
  std::string why;
  Moments written{};  // by the patch
  // Of kDone: the step that has ended, and how long it took.
  std::optional<Kind> ended{};
  std::int64_t took_ms = 0;
};
[[nodiscard]] std::string_view to_string(Action::Kind kind);

struct Decided {
  std::vector<Action> actions;
  // By uid, for people: why a job that waits does not start, why one that runs has not the size
  // that is wished for, and what a Charm++ program is waited for that should have acted long since.
  std::map<std::string, std::string> waits;
};

class Controller {
 public:
  explicit Controller(ElasticPolicy policy, const ElasticKnobs& knobs = {},
                      ControllerLimits limits = {})
      : policy_(policy), knobs_(knobs), limits_(limits) {}

  // `free`: CPUs that no pod holds and none is promised. Of each job at most one action; the caller
  // carries them out in any order, shows what came of them by the next call's `jobs`, and may leave
  // any of them: it is then decided anew. `settling`: CPUs are becoming free just now
  // (core/settling.h).
  [[nodiscard]] Decided step(const std::map<std::string, ElasticObject>& jobs, std::int64_t free,
                             std::int64_t now_ms, bool settling = false) const;

 private:
  [[nodiscard]] std::optional<Action> carry_on(const ElasticObject& job, std::int64_t now_ms) const;
  [[nodiscard]] std::optional<Action> carry_on_growing(const ElasticObject& job,
                                                       std::int64_t now_ms) const;
  [[nodiscard]] bool is_waited_for(const ElasticObject& job, std::int64_t now_ms) const;
  [[nodiscard]] static bool is_to_shrink(const ElasticObject& job, std::int64_t now_ms);
  [[nodiscard]] bool is_stuck(const ElasticObject& job, std::int64_t now_ms) const;
  [[nodiscard]] bool is_overdue(const ElasticObject& job, std::int64_t now_ms) const;

  ElasticPolicy policy_;
  ElasticKnobs knobs_;
  ControllerLimits limits_;
};

}  // namespace pinion::cluster::elastic
