#include "cluster/extender/elastic/speedometer.h"

#include <algorithm>
#include <utility>

#include "cluster/extender/elastic/telling.h"

namespace pinion::cluster::elastic {
namespace {

using Measure = SpeedSeen::Measure;

// All of its workers work, and nothing is about to change.
bool is_steady(const ElasticObject& job) {
  return !job.over && !job.suspended && !job.wanted && !job.is_pending() && job.succeeded == 0 &&
         job.stated > 0 && job.ready == job.stated;
}

// It is asked by us, or reads by itself what is wanted.
bool is_answer_awaited(const ElasticObject& job) {
  const bool by_annotation = job.channel.kind == Channel::Kind::kAnnotation && job.wanted &&
                             !job.grows() && job.stated == job.before && !job.acknowledged;
  return by_annotation || (job.wanted && is_to_be_asked(job) && !job.has_come());
}

}  // namespace

void Speedometer::look(const ElasticObject& job, const std::optional<WorkDone>& work,
                       std::int64_t now_ms) {
  const auto [at, is_new] = jobs_.try_emplace(job.uid);
  Watched& one = at->second;
  if (is_new) one.seen = job.seen;
  look_at_cost(one, job, now_ms);
  const int workers = is_steady(job) ? job.stated : 0;
  if (workers != one.workers) {
    one.workers = workers;
    one.since_ms = now_ms;
    one.from.reset();
  }
  if (work) look_at_speed(one, *work, now_ms);
  if (now_ms - one.moved_ms >= kLeftKeptMs) one.left.reset();
}

void Speedometer::look_at_speed(Watched& one, const WorkDone& work, std::int64_t now_ms) {
  const bool weaker = one.seen.measure > work.measure;
  if (weaker) return;
  const std::optional<WorkDone> last = std::exchange(one.last, work);
  one.left.reset();
  // One that has done all and goes on has guessed too low.
  if (work.progress.whole && work.progress.done < *work.progress.whole) {
    one.left = *work.progress.whole - work.progress.done;
  }
  const bool same = last && last->measure == work.measure;
  const bool anew = !same || work.progress.done < last->progress.done || work.at_s < last->at_s;
  if (anew) one.from.reset();
  if (!last || last->progress.done != work.progress.done) one.moved_ms = now_ms;
  const std::int64_t settle = work.measure == Measure::kProgress ? kSettleMs : kSettleCountersMs;
  const bool moves = same && work.progress.done > last->progress.done;
  if (one.workers == 0 || now_ms - one.since_ms < settle || !moves) return;
  if (!one.from) {
    one.from = work;
    return;
  }
  const double seconds = work.at_s - one.from->at_s;
  const bool counted = work.measure == Measure::kInstructions;
  if (seconds < (counted ? kCountedWindowS : kSpeedWindowS)) return;
  double rate = (work.progress.done - one.from->progress.done) / seconds;
  // What was seen last counts as much as all before: a program's phases differ.
  const auto before = one.seen.rate_of(work.measure, one.workers);
  if (before) rate = (rate + *before) / 2;
  one.seen.add_rate(work.measure, one.workers, std::clamp(rate, kLeastAmount, kLargestAmount));
  one.from = work;
}

void Speedometer::look_at_cost(Watched& one, const ElasticObject& job, std::int64_t now_ms) {
  if (is_answer_awaited(job)) {
    if (one.asked_for_ms == job.rescaled_ms) return;
    one.asked_for_ms = job.rescaled_ms;
    one.asked_ms = now_ms;
    return;
  }
  if (one.asked_ms == 0) return;
  const bool agrees = job.wanted && (job.has_come() || job.acknowledged == job.wanted);
  if (agrees && job.rescaled_ms == one.asked_for_ms && now_ms > one.asked_ms) {
    one.seen.add_cost(job.grows(), static_cast<double>(now_ms - one.asked_ms) / 1000);
  }
  one.asked_ms = 0;
}

void Speedometer::fill_in(ElasticObject& job) const {
  const auto one = jobs_.find(job.uid);
  if (one == jobs_.end()) return;
  job.seen = one->second.seen;
  const auto& last = one->second.last;
  if (last && last->measure == job.seen.measure) job.left = one->second.left;
}

}  // namespace pinion::cluster::elastic
