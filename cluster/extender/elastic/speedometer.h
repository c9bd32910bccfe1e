// Watches how fast elastic jobs are with how many workers, and how long they take to answer that
// they are ready for another number. Pure: `now_ms` is an argument. What it has seen of a job goes
// into the job's annotation with the next step of a rescale (controller.h).
//
// A speed is taken over a window that begins and ends with a change of what is done, so that an
// application may report each minute as well as each second. It counts for the size that the job
// had from the window's beginning to its end, with all of its workers ready.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cluster/extender/elastic/elastic_job.h"
#include "cluster/extender/elastic/speed_seen.h"

namespace pinion::cluster::elastic {

// What a job has done by a moment of the measure's own clock.
struct WorkDone {
  SpeedSeen::Measure measure = SpeedSeen::Measure::kProgress;
  Progress progress;
  double at_s = 0;
};

// Speeds are taken over at least so long, after the job has had its size for so long: an
// application that was just rescaled starts anew, and agents tell counters with a delay.
inline constexpr double kSpeedWindowS = 30;
inline constexpr double kCountedWindowS = 120;  // of counters, which come every 30 s
inline constexpr std::int64_t kSettleMs = 10'000;
inline constexpr std::int64_t kSettleCountersMs = 60'000;
inline constexpr std::int64_t kLeftKeptMs = 600'000;  // what is left is believed without progress

class Speedometer {
 public:
  // One look at the job. Where progress was seen of it, instructions count no more.
  void look(const ElasticObject& job, const std::optional<WorkDone>& work, std::int64_t now_ms);
  // What was seen of it by all leaders, and what it still has to do, in the same unit: into the
  // job.
  void fill_in(ElasticObject& job) const;
  void forget(const std::string& uid) { jobs_.erase(uid); }
  // Of all jobs: another leader looks at them.
  void forget_all() { jobs_.clear(); }
  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

 private:
  struct Watched {
    SpeedSeen seen;
    std::optional<double> left;
    int workers = 0;            // that all run; 0: it is being rescaled
    std::int64_t since_ms = 0;  // with that number
    std::optional<WorkDone> last;
    std::int64_t moved_ms = 0;      // when so much was done for the first time
    std::optional<WorkDone> from;   // where the window begins
    std::int64_t asked_for_ms = 0;  // which rescale it was asked for, by when that was decided
    std::int64_t asked_ms = 0;      // 0: it was not, or has answered
  };

  static void look_at_speed(Watched& one, const WorkDone& work, std::int64_t now_ms);
  static void look_at_cost(Watched& one, const ElasticObject& job, std::int64_t now_ms);

  std::map<std::string, Watched> jobs_;  // by uid
};

}  // namespace pinion::cluster::elastic
